"""What the tests cost, from the --junitxml of one run or of several that share them: writes tests/costs.json and the tables in
tests/README.md.

python -m tests.support.costs build/tests.xml [build/more.xml …] [--note "2 cores, nothing beside it"]
"""

import argparse
import json
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from pathlib import Path

from tests.support.tiers import COSTS, unit

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- costs: written by tests/support/costs.py -->", "<!-- end of costs -->"
MOST = 25


def read(reports: list[Path]) -> tuple[Counter, Counter, Counter, dict[str, int]]:
    """Seconds by unit, by test and by fixture (all its set-ups), and how often each fixture was set up."""
    units, tests, fixtures, times = Counter(), Counter(), Counter(), defaultdict(int)
    for case in (case for report in reports for case in ElementTree.parse(report).iter("testcase")):
        file, seconds = _file(case.get("classname")), float(case.get("time"))
        units[unit(f"{file}::{case.get('name')}")] += seconds
        tests[f"{file}::{case.get('name')}"] += seconds
        for each in case.iter("property"):
            kind, _, name = each.get("name").partition(" ")
            if kind == "fixture":
                fixtures[name] += float(each.get("value"))
                times[name] += 1
    return units, tests, fixtures, times


def _file(classname: str) -> str:
    """tests.jobs.test_x, or tests.jobs.test_x.TestClass, as a path."""
    words = classname.split(".")
    last = next(number for number, word in enumerate(words) if word.startswith("test_"))
    return "/".join(words[: last + 1]) + ".py"


def table(head: tuple[str, ...], rows: list[tuple]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", type=Path, nargs="+", metavar="REPORT")
    parser.add_argument("--note", default="", help="the machine, and what ran beside it")
    options = parser.parse_args()
    units, tests, fixtures, times = read(options.reports)
    COSTS.write_text(json.dumps({name: round(seconds, 1) for name, seconds in sorted(units.items())}, indent=1) + "\n")
    written = [
        f"{len(tests):,} tests, {sum(units.values()):,.0f} s of workers' time. {options.note}".rstrip(),
        table(("fixture", "set up", "seconds in all"), [(f"`{n}`", times[n], f"{s:.0f}") for n, s in fixtures.most_common(MOST)]),
        table(("unit", "seconds"), [(f"`{name}`", f"{seconds:.0f}") for name, seconds in units.most_common(MOST)]),
        table(("test", "seconds"), [(f"`{name}`", f"{seconds:.0f}") for name, seconds in tests.most_common(MOST)]),
    ]
    before, _, rest = README.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(written) + f"\n\n{END}{after}")


if __name__ == "__main__":
    main()
