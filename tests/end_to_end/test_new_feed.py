"""From a CSV to scored rows, by the commands that `sundial new feed` prints, typed as they are printed.

The declaration is written into a copy of the repository, which has a stack of its own.
"""

import datetime as dt
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from stack.instance import CLASSES, JARS, ROOT
from tests.end_to_end import oracle
from tests.support import topics
from tests.support.waiting import until

pytestmark = [pytest.mark.timeout(1200), pytest.mark.full, pytest.mark.parts]
ROOMS = ("contracts", "dags", "docker", "jobs", "schemas", "serving", "sources", "stack", "supervision")
HOUR = dt.timedelta(hours=1)
HOURS = 24 * 29


@pytest.fixture
def typed(tmp_path, instance):
    """Types a line into a shell in a copy of the repository; what it prints. It must succeed."""
    copy = tmp_path / "repository"
    for room in ROOMS:
        shutil.copytree(ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    for there in (JARS, CLASSES):
        (copy / there.name).symlink_to(there.resolve())
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SUNDIAL_")}
    environment = clean | {"SUNDIAL_HOME": str(instance.path), "PYTHONPATH": str(copy)}
    sundial = f"sundial() {{ {shlex.quote(sys.executable)} -c 'from stack.commands.cli import app; app()' \"$@\"; }}"

    def run(line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", f"{sundial}\n{line}"],
            cwd=copy,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    return run


def calls(file: Path) -> dict[tuple[str, int], int]:
    """Two shops, every hour up to now, each with one value for each hour of the week; by shop and epoch milliseconds."""
    last = dt.datetime.now(dt.UTC).replace(minute=0, second=0, microsecond=0)
    rows = {}
    for at in (last - HOUR * back for back in reversed(range(HOURS))):
        for shop, level in (("north", 500), ("south", 900)):
            rows[shop, round(at.timestamp() * 1000)] = level + 20 * at.hour + at.isoweekday()
    lines = [
        f"{dt.datetime.fromtimestamp(at / 1000, dt.UTC):%Y-%m-%d %H:%M};{value};{shop}" for (shop, at), value in rows.items()
    ]
    file.write_text("\n".join(["when;calls;shop", *lines, ""]))
    return rows


def test_from_a_csv_to_scored_rows_by_the_printed_commands(instance, typed, tmp_path):
    file = tmp_path / "my calls.csv"
    rows = calls(file)
    typed("sundial up --port-base 0")
    said = typed(f"sundial new feed shop-calls --from {shlex.quote(str(file))} --timezone UTC").splitlines()
    commands = [line.strip() for line in said if line.startswith("  sundial ")]
    assert [command.split()[1] for command in commands] == ["up", "bootstrap", "streams", "replay"]
    for command in commands:
        typed(command)

    newest = max(at for _, at in rows)
    day = {(shop, at): value for (shop, at), value in rows.items() if at >= newest - 24 * 3_600_000}

    def scored() -> dict[tuple[str, int], dict]:
        found = (oracle.record(each.value(), "scored") for each in topics.consume(instance.kafka, "shop-calls.scored"))
        return {(row["ServiceName"], row["Timestamp"]): row for row in found}

    until("every reading of the last day is scored", lambda: scored().keys() >= day.keys(), 120)
    found = scored()
    assert {key: (row["Value"], row["Last4Avg"]) for key, row in found.items()} == {
        key: (value, float(value)) for key, value in day.items()
    }
    services = httpx.get(f"{instance.api}/api/feeds/shop-calls/services", timeout=30).json()
    assert {each["name"] for each in services} == {"north", "south"}
