"""From a CSV to a chart and an alert, by the commands that `sundial new feed` prints, typed as they are printed.

The declarations are written into a copy of the repository, which has a stack of its own.
"""

import datetime as dt
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from zoneinfo import ZoneInfo

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright

from stack.instance import CLASSES, JARS, ROOT
from tests.end_to_end import oracle
from tests.serving.alerts.conftest import SECRET
from tests.serving.alerts.receiver import receiving
from tests.serving.conftest import CHROMIUM, QUIET
from tests.support import topics
from tests.support.waiting import until

pytestmark = [pytest.mark.timeout(3000), pytest.mark.full, pytest.mark.parts]
ROOMS = ("contracts", "dags", "docker", "jobs", "schemas", "serving", "sources", "stack", "supervision")
HOUR = dt.timedelta(hours=1)
HOURS = 24 * 29
SOON = 1200  # seconds
# In one of these it is neither morning nor evening: the file's last reading is of today, and today is not over soon.
ZONES = ("Pacific/Honolulu", "America/Sao_Paulo", "Asia/Kolkata", "Asia/Tokyo")
ROUTE = """\
name: on-call
description: Who looks after the shops
feeds: [shop-calls]
target: {kind: webhook, url: SUNDIAL_ALERT_SHOP_URL, key: SUNDIAL_ALERT_SHOP_KEY, network: loopback}
"""
SHOWN = "Array.from(globalThis.sundial?.chart.data[0] ?? [], (at, place) => [at * 1000, sundial.chart.data[1][place]])"


@pytest.fixture
def receiver():
    with receiving() as found:
        yield found


@pytest.fixture
def copy(tmp_path) -> Path:
    """Of the repository."""
    made = tmp_path / "repository"
    for room in ROOMS:
        shutil.copytree(ROOT / room, made / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", made)
    for there in (JARS, CLASSES):
        (made / there.name).symlink_to(there.resolve())
    return made


@pytest.fixture
def typed(copy, instance, receiver):
    """Types a line into a shell in the copy; what it prints. It must succeed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SUNDIAL_")}
    environment = clean | {"SUNDIAL_HOME": str(instance.path), "PYTHONPATH": str(copy)}
    environment |= {"SUNDIAL_ALERT_SHOP_URL": receiver.url, "SUNDIAL_ALERT_SHOP_KEY": SECRET}
    python = f'python() {{ {shlex.quote(sys.executable)} "$@"; }}'
    sundial = "sundial() { python -c 'from stack.commands.cli import app; app()' \"$@\"; }"

    def run(line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", f"{python}\n{sundial}\n{line}"],
            cwd=copy,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SOON,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    return run


def calls(file: Path, zone: ZoneInfo) -> dict[tuple[str, int], int]:
    """Two shops, every hour up to now, each with one value for each hour of the week, but five times as many calls in the last
    hour of north. The values by shop and epoch milliseconds.

    As a spreadsheet may write it: a byte order mark, semicolons, local times, decimals, names with blanks, carriage returns.
    """
    last = dt.datetime.now(zone).replace(minute=0, second=0, microsecond=0, tzinfo=None)
    rows, lines = {}, ["Region;Begin;Calls answered;Shop name"]
    for at in (last - HOUR * back for back in reversed(range(HOURS))):
        for shop, level in (("north", 500), ("south", 900)):
            value = (level + 20 * at.hour + at.isoweekday()) * (5 if (shop, at) == ("north", last) else 1)
            rows[shop, round(at.replace(tzinfo=zone).timestamp() * 1000)] = value
            lines.append(f"Minnesota;{at:%Y-%m-%d %H:%M:%S};{value}.0;{shop}")
    file.write_text("\r\n".join([*lines, ""]), encoding="utf-8-sig", newline="")
    return rows


def program(topic: str) -> str:
    """The program of the page, which sends a reading of this hour to the topic, of a service with the topic's name."""
    page = (ROOT / "docs/new-feed.md").read_text().partition("## Send readings from a program\n")[2]
    return page.partition("```bash\n")[2].partition("```")[0].replace("cars", topic)


def test_a_csv_becomes_a_feed_that_is_scored_charted_and_alerting_by_the_printed_commands(
    instance, typed, copy, receiver, tmp_path
):
    zone = next(each for each in map(ZoneInfo, ZONES) if 6 <= dt.datetime.now(each).hour < 18)
    file = tmp_path / "my calls.csv"
    rows = calls(file, zone)
    newest = max(at for _, at in rows)
    began = time.monotonic()
    typed("sundial up --port-base 0")
    typed("sundial queries start incidents")  # it runs after `make run`
    print(f"{time.monotonic() - began:.0f} s until all runs")
    said = typed(f"sundial new feed shop-calls --from {shlex.quote(str(file))} --timezone {zone}").splitlines()
    commands = [line.strip() for line in said if line.startswith("  sundial ")]
    assert [command.split()[1] for command in commands] == ["up", "bootstrap", "streams", "queries", "replay"]
    (copy / "schemas/alerts").mkdir(exist_ok=True)
    (copy / "schemas/alerts/on-call.yaml").write_text(ROUTE)
    for command in commands:
        typed(command)
        print(f"{time.monotonic() - began:.0f} s: {command}")

    day = {(shop, at): value for (shop, at), value in rows.items() if at > newest - 24 * 3_600_000}

    def scored() -> dict[tuple[str, int], dict]:
        found = (oracle.record(each.value(), "scored") for each in topics.consume(instance.kafka, "shop-calls.scored"))
        return {(row["ServiceName"], row["Timestamp"]): row for row in found}

    until("every reading of the last day is scored", lambda: scored().keys() >= day.keys(), SOON)
    surge = ("north", newest)
    found = scored()
    usual = {key: value / 5 if key == surge else float(value) for key, value in day.items()}
    assert {key: (row["Value"], row["Last4Avg"]) for key, row in found.items()} == {
        key: (value, usual[key]) for key, value in day.items()
    }
    assert [key for key, row in found.items() if row["Anomalous"]] == [surge]
    until("the incident is reported", lambda: receiver.came, SOON, lambda: typed("sundial logs alerts; sundial status"))
    print(f"{time.monotonic() - began:.0f} s from the first command to the alert")
    [message] = [each.json for each in receiver.once()]
    start = dt.datetime.fromtimestamp(newest / 1000, dt.UTC)
    assert (message["event"], message["feed"], message["incident"]["ServiceName"]) == ("opened", "shop-calls", "north")
    assert dt.datetime.fromisoformat(message["incident"]["Start"]) == start

    now = dt.datetime.now(dt.UTC)
    assert "offset " in typed(program("shop-calls"))
    own = until(
        "the program's reading is scored", lambda: [row for (shop, _), row in scored().items() if shop == "shop-calls"], SOON
    )
    assert [(row["Value"], row["Last4Avg"]) for row in own] == [(560, None)]
    assert (
        now.replace(minute=0, second=0, microsecond=0)
        <= dt.datetime.fromtimestamp(own[0]["Timestamp"] / 1000, dt.UTC)
        <= now + HOUR
    )

    services = httpx.get(f"{instance.api}/api/feeds/shop-calls/services", timeout=30).json()
    assert {each["name"] for each in services} == {"north", "south", "shop-calls"}
    [address] = [line.removeprefix("Chart: ") for line in said if line.startswith("Chart: ")]
    if CHROMIUM:
        week = {at: value for (shop, at), value in rows.items() if shop == "north" and at > newest - 7 * 86_400_000}
        shows(f"{address}&service=north", week)


def shows(address: str, readings: dict[int, int]) -> None:
    """In a browser, the page's chart has these readings, and the page lists the incident."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        page.goto(address)
        until(
            "the chart has the readings",
            lambda: readings.items() <= dict(page.evaluate(SHOWN)).items(),
            60,
            lambda: page.evaluate(SHOWN),
        )
        expect(page.locator("#incidents > li").first).to_contain_text("north", timeout=60_000)
        browser.close()
