"""What a run says of itself: Markdown for people, and a line of JSON for each figure."""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bench.chaos.judged import Verdict
from bench.chaos.ledger import REASONS
from bench.chaos.plan import FAULT, Event
from bench.platform import figure

SYSTEM = "sundial"


@dataclass(frozen=True)
class Outcome:
    """Of an event. seconds: of a fault, until the stream scored again; of an act, that it took. after_part: since the part that
    was hit was there again. said: what came of an act. problem: why a promise is broken, if one is."""

    event: Event
    seconds: float | None = None
    after_part: float | None = None
    said: str = ""
    problem: str | None = None

    def __str__(self) -> str:
        took = f"{self.seconds:.1f} s" if self.seconds is not None else ""
        return " ".join(each for each in (str(self.event).strip(), "->", took, self.said, self.problem or "") if each)


def broken(verdicts: Sequence[Verdict], outcomes: Sequence[Outcome]) -> Counter:
    """By what was broken, how often."""
    found = Counter(problem=sum(each.problem is not None for each in outcomes))
    for each in verdicts:
        found.update(each.findings.counts)
    return +found


def printed(
    options: argparse.Namespace,
    verdicts: Sequence[Verdict],
    outcomes: Sequence[Outcome],
    asked: Sequence[str],
    without: Sequence[str],
) -> int:
    """Print the report to standard error and the figures to standard output. The exit code: 1 if anything was broken."""
    text = markdown(options, verdicts, outcomes, asked, without)
    print(text, file=sys.stderr, flush=True)
    if options.report:
        options.report.write_text(text)
    _figures(verdicts, outcomes)
    return 1 if broken(verdicts, outcomes) else 0


def markdown(options, verdicts, outcomes, asked, without) -> str:
    lines = [f"## chaos: seed {options.seed}, {options.minutes:g} minutes, {options.rate} records a second", ""]
    wrong = broken(verdicts, outcomes)
    lines += [f"**{sum(wrong.values())} promises broken.**" if wrong else "**No promise was broken.**", ""]
    lines += [f"Left out, as this machine cannot have it: {', '.join(without)}.", ""] if without else []
    lines += ["| topic | figures |", "|---|---|"]
    lines += [f"| `{each.topic}` | {_listed(each.figures)} |" for each in verdicts]
    lines += ["", "| class of record | sent | becomes |", "|---|---|---|"]
    classes = sum((each.classes for each in verdicts), Counter())
    lines += [f"| {kind} | {count:,} | {'a letter' if REASONS[kind] else 'a row'} |" for kind, count in classes.items()]
    lines += ["", "| at | event | seconds | after its part's return | what came of it |", "|---|---|---|---|---|"]
    for each in sorted(outcomes, key=lambda outcome: outcome.event.at):
        name = str(each.event).split("  ", 2)[-1].strip()
        cells = [f"{each.event.at:.0f} s", name, _seconds(each.seconds), _seconds(each.after_part), each.problem or each.said]
        lines.append(f"| {' | '.join(cell.replace('|', '/').splitlines()[0] if cell else '' for cell in cells)} |")
    lines += ["", f"Asked of people, as docs/when-it-needs-you.md names it: {_listed(Counter(asked)) or 'nothing'}."]
    lines += [f"\nBroken: {_listed(wrong)}.\n"] if wrong else []
    for each in verdicts:
        for what, examples in each.findings.examples.items():
            lines += [
                f"- `{each.topic}`: {what} ({each.findings.counts[what]:,}), for example",
                *(f"    - {text}" for text in examples),
            ]
    lines += [f"- {each.event}: {each.problem}" for each in outcomes if each.problem]
    return "\n".join(lines) + "\n"


def _listed(figures) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in figures.items())


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _figures(verdicts: Sequence[Verdict], outcomes: Sequence[Outcome]) -> None:
    sums = Counter()
    for each in verdicts:
        sums.update(each.figures)
    found = broken(verdicts, outcomes)
    missing = sum(count for what, count in found.items() if what.startswith("missing") or what == "history_missing")
    doubled = found["unexpected"] + found["history_twice"]
    figures = {"records": sums["records"], "readings": sums["readings"], "letters": sums["letters"]}
    figures |= {"missing": missing, "doubled": doubled, "wrong": sum(found.values()) - missing - doubled}
    for name, value in figures.items():
        figure("chaos", SYSTEM, name, [value], "records")
    backs = defaultdict(list)
    for done in outcomes:
        if done.event.who == FAULT and done.seconds is not None:
            backs["back_after_fault_s"].append(done.seconds)
            backs["back_s"].append(done.after_part)
    figure("chaos", SYSTEM, "faults", [sum(each.event.who == FAULT for each in outcomes)], "faults")
    for name, values in backs.items():
        figure("chaos", SYSTEM, name, values, "s")
