"""Parity: the night, the stream and both backtests give each reading the same score, and find the same incidents.

The night takes the local clock from the column Slot, the stream from `wall_clock`, a backtest of a file from its cells. These
could differ where the clocks change and on a public holiday, so the rows have both.
"""

import csv
import datetime as dt
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from pyspark.sql.streaming.tws_tester import TwsTester
from typer.testing import CliRunner

from contracts.feeds import Feed
from contracts.incident_queries import settings_of
from jobs import find_incidents
from jobs.backends import detector_states, tables
from jobs.backends.history_table import merge
from jobs.transforms import incident_rows, incident_walk
from jobs.transforms.detector import incident_life
from jobs.transforms.incident_walk import Settings
from jobs.transforms.queries.incidents import _came, _Incidents
from stack.backtest import walk as walk_of_file
from stack.commands.cli import app
from tests.jobs.readings import arrived
from tests.support.seed import chance
from tests.transforms.incident_streams import Known, in_order

STEP = 1800
HOUR = 3600
BATCHES = 12
AUTUMN = ("America/Chicago", "US", dt.date(2026, 10, 19), dt.date(2026, 11, 1), dt.date(2026, 11, 11))  # Veterans Day
SPRING = ("Europe/Berlin", "DE", dt.date(2026, 3, 16), dt.date(2026, 3, 29), dt.date(2026, 4, 3))  # Good Friday

Row = tuple[str, int, int]  # service, epoch seconds, value
Scores = Mapping[tuple[str, int], str]  # by service and epoch milliseconds, all columns of a score


class Case:
    """Rows by time from a Monday to the day after a holiday, in a zone whose clocks change meanwhile."""

    def __init__(self, zone: str, country: str, monday: dt.date, change: dt.date, holiday: dt.date):
        self.zone, self.country, self.change, self.holiday = ZoneInfo(zone), country, change, holiday
        self.end = holiday + dt.timedelta(days=2)
        self.feed = Feed(
            name="calls",
            description="calls in half an hour",
            record="service_use_record",
            interval_seconds=STEP,
            spread_window_seconds=STEP,
            timezone=zone,
            holidays={"country": country},
            incidents={"silence": 4},
        )
        random = np.random.default_rng(7)
        first, last = self.at(monday), self.at(self.end)
        self.rows: list[Row] = []
        for at in range(first, last, STEP):
            for service in ("shop", "www"):
                value = int(random.poisson(self._usual(at))) * (3 if self.is_surge(service, at) else 1)
                if not (service == "shop" and 0 <= at - self.at(change, 14) < 6 * STEP):
                    self.rows.append((service, at, value))

    def at(self, date: dt.date, hour: int = 0) -> int:
        return round(dt.datetime.combine(date, dt.time(hour), self.zone).timestamp())

    def local(self, at: int) -> dt.datetime:
        return dt.datetime.fromtimestamp(at, self.zone)

    def is_surge(self, service: str, at: int) -> bool:
        """One service's lies where the clocks change, the other's is on the holiday."""
        begin = self.at(self.change, 1) if service == "shop" else self.at(self.holiday, 10)
        return 0 <= at - begin < 3 * HOUR

    def _usual(self, at: int) -> float:
        """By the local clock; on a holiday as on a Sunday."""
        local = self.local(at)
        hour, free = local.hour + local.minute / 60, local.weekday() > 4 or local.date() == self.holiday
        return 400 * (1.2 + np.sin((hour - 9) / 12 * np.pi)) * (0.75 if free else 1)


@contextmanager
def scores() -> Iterator[dict[tuple[str, int], str]]:
    """What the detector says of each reading within: every column of its score, to the last bit."""
    found: dict[tuple[str, int], str] = {}
    inner = incident_life.followed

    def followed(open_, names, readings, score, rules):
        cells = zip(*(column.tolist() for column in score), strict=True)
        for service, at, each in zip(readings.service.tolist(), readings.at.tolist(), cells, strict=True):
            assert (names[service], at) not in found, "each reading is judged once"
            found[names[service], at] = repr(each)
        return inner(open_, names, readings, score, rules)

    with pytest.MonkeyPatch.context() as patch:
        for module in (incident_life, incident_walk, walk_of_file):
            patch.setattr(module, "followed", followed)
        yield found


def of_night(spark, run_job, platform, case: Case) -> tuple[Scores, list[dict], dict[str, bytes]]:
    """(scores, events, each service's state at the end) of the nightly job, date by date."""
    came = [(name, dt.datetime.fromtimestamp(at, dt.UTC), value, 0, number) for number, (name, at, value) in enumerate(case.rows)]
    merge(spark, tables.history(platform, case.feed), arrived(spark, case.feed, came), {"offsets": {}})
    with scores() as found:
        run_job(find_incidents, platform, "--feed", case.feed.name, "--run-id", "n1", "--as-of", str(case.end))
    table, states = tables.incidents(platform, case.feed), tables.detector(platform, case.feed)
    rows = table.dataset(table.version()).to_table().to_pylist()
    known = detector_states.read(states, case.end).known.services
    events = [{name: row[name] for name in incident_rows.COLUMNS} for row in rows]
    return found, events, {name: each.state.tobytes() for name, each in known.items()}


def of_stream(spark, case: Case) -> tuple[Scores, list[dict], dict[str, bytes]]:
    """The same of the query, in batches that are cut anywhere."""
    feed = settings_of(case.feed)
    readings = [
        ((name, dt.datetime.fromtimestamp(at, dt.UTC), number, value), dt.datetime.fromtimestamp(at + STEP, dt.UTC))
        for number, (name, at, value) in enumerate(case.rows)
    ]
    reading = f"{feed['service']} string, RowTime timestamp, RowOffset long, {feed['value']} int"
    frame = spark.createDataFrame(readings, f"calls struct<{reading}>, RowCame timestamp")
    came = frame.select(_came("calls", feed).alias("came")).select("came.*").toPandas().sort_values("Offset", ignore_index=True)
    tester = TwsTester(_Incidents({"calls": Settings.of(feed)}, Known()), timeMode="ProcessingTime")
    cuts = sorted(chance(f"parity {case.zone}").sample(range(1, len(came)), BATCHES - 1))
    events = []
    with scores() as found:
        for first, end in zip([0, *cuts], [*cuts, len(came)], strict=True):
            emitted = tester.testInPandas("calls", came.iloc[first:end].reset_index(drop=True))
            events += emitted.to_dict("records") if isinstance(emitted, pd.DataFrame) else []
    state = {name: each[0] for (name,), each in tester.peekMapState("services", "calls").items()}
    return found, [{name: each[name] for name in incident_rows.COLUMNS} for each in events], state


def backtest(output: Path, *options: str) -> tuple[Scores, list[dict]]:
    """(scores, lines of its output) of the command."""
    with scores() as found:
        ran = CliRunner().invoke(app, ["backtest", *options, "--output", str(output)])
    assert ran.exit_code == 0, ran.output
    with output.open() as file:
        return found, list(csv.DictReader(file))


def capture(case: Case, path: Path) -> list[str]:
    """Writes the rows, one service's times by the local clock and the other's with an offset; returns the command's options."""
    with path.open("w") as file:
        print("at,calls,service", file=file)
        for service, at, value in case.rows:
            local = case.local(at)
            print(local if service == "www" else local.replace(tzinfo=None), value, service, sep=",", file=file)
    of_file = {"timestamp": "at", "value": "calls", "service": "service", "interval": "30m"}
    options = of_file | {"timezone": str(case.zone), "holidays": case.country}
    return [str(path), *(word for name, value in options.items() for word in (f"--{name}", value))]


@pytest.mark.parametrize("case", [AUTUMN, pytest.param(SPRING, marks=pytest.mark.full)], ids=["autumn", "spring"])
def test_night_stream_and_backtests_give_each_reading_the_same_score(spark, run_job, lake_platform, tmp_path, monkeypatch, case):
    case = Case(*case)
    for module in ("jobs.backends.settings", "stack.commands.backtest"):
        monkeypatch.setattr(f"{module}.load_feed", lambda name: case.feed)
    monkeypatch.setenv("SUNDIAL_LAKE", lake_platform.lake)
    monkeypatch.setenv("SUNDIAL_HOME", str(tmp_path / "home"))
    wanted, events, states = of_night(spark, run_job, lake_platform, case)
    assert wanted.keys() == {(name, at * 1000) for name, at, _ in case.rows}
    opened = {each["Id"]: each for each in events if each["State"] == "opened"}
    begins = {(each["ServiceName"], each["Kind"], case.local(each["Start"] // 1000).date()) for each in opened.values()}
    assert {
        ("shop", "deviation", case.change),
        ("shop", "silence", case.change),
        ("www", "deviation", case.holiday),
    } <= begins

    streamed, emitted, state = of_stream(spark, case)
    assert streamed == wanted
    assert state == states
    assert in_order(emitted) == in_order(events)

    of_file, lines = backtest(tmp_path / "file.csv", *capture(case, tmp_path / "calls.csv"))
    of_history, other = backtest(tmp_path / "history.csv", "--feed", case.feed.name)
    assert of_file == wanted
    assert of_history == wanted
    column = {key: f"{float(cells[1:-1].split(', ')[3]):.4f}" for key, cells in wanted.items()}
    assert [each["anomaly_score"] for each in lines] == [column[name, at * 1000] for name, at, _ in case.rows]
    by_key = {(each["service"], epoch_ms(each["timestamp"])): each for each in other}
    assert {key: each["anomaly_score"] for key, each in by_key.items()} == column
    ids = {name for name, each in opened.items() if each["Kind"] == "deviation"}
    for each in (lines, other):
        assert {line["incident_id"] for line in each} - {""} == ids


def epoch_ms(text: str) -> int:
    return round(dt.datetime.fromisoformat(text).timestamp() * 1000)
