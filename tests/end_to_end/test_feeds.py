"""The other declared feeds, from their samples to a baseline in force through Airflow; every row of it is computed a second time.

The second computation shares no code with the jobs: the capture is read with csv, the calendar and the formulas are written down
here in plain Python.
"""

import csv
import datetime as dt
import gzip
import statistics
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

import deltalake
import holidays
import pytest

from stack.errors import StackError
from stack.instance import Instance
from stack.parts.airflow_api import AirflowApi
from stack.parts.dag_run import watch

pytestmark = [pytest.mark.timeout(900), pytest.mark.full]
SAMPLES = Path(__file__).parents[2] / "samples"


@dataclass
class Capture:
    feed: str
    file: str
    service: str
    time: str
    value: str
    zone: ZoneInfo  # of the feed
    clock: ZoneInfo  # of the times in the file
    interval: int
    window: int  # slots that share a spread
    holidays: dict = field(repr=False)

    def readings(self) -> dict[dt.datetime, int]:
        """Value by local time on the feed's wall clock; a time that comes twice says the same both times."""
        found = {}
        with gzip.open(SAMPLES / self.file, "rt") as lines:
            for row in csv.DictReader(lines):
                at = dt.datetime.fromisoformat(row[self.time]).replace(tzinfo=self.clock).astimezone(self.zone)
                found[at.replace(tzinfo=None)] = int(float(row[self.value]))
        return found

    def day_type(self, date: dt.date) -> int:
        return 7 if date in self.holidays else date.isoweekday()

    def baseline(self) -> dict[int, tuple[list, list, list, list]]:
        """By day type: Last4Avg and Samples by slot, Spread by window, Dates; as of the day after the last reading."""
        readings = self.readings()
        last = max(readings).date()
        days = [last - dt.timedelta(days=back) for back in range(70)]
        slots = 86_400 // self.interval
        result = {}
        for day_type in range(1, 8):
            dates = [day for day in days if self.day_type(day) == day_type][:4]
            values = defaultdict(list)
            for at, value in readings.items():
                if at.date() in dates:
                    values[(at.hour * 3600 + at.minute * 60 + at.second) // self.interval].append(value)
            known = {slot: (statistics.fmean(found), len(found)) for slot, found in values.items() if len(found) > 1}
            residuals = defaultdict(list)
            for slot, (average, count) in known.items():
                residuals[slot // self.window] += [abs(value - average) * (count / (count - 1)) ** 0.5 for value in values[slot]]
            spreads = [
                1.4826022185056018 * statistics.median(residuals[window]) if window in residuals else None
                for window in range(slots // self.window)
            ]
            cells = [known.get(slot, (None, None)) for slot in range(slots)]
            present = sorted({at.date() for at in readings} & set(dates))
            result[day_type] = ([cell[0] for cell in cells], [cell[1] for cell in cells], spreads, present)
        return result


CAPTURES = [
    Capture(
        feed="road-traffic",
        file="metro_interstate_traffic_volume.csv.gz",
        service="I-94",
        time="date_time",
        value="traffic_volume",
        zone=ZoneInfo("America/Chicago"),
        clock=ZoneInfo("America/Chicago"),
        interval=3600,
        window=3,
        holidays=holidays.country_holidays("US", subdiv="MN", years=2018),
    ),
    Capture(
        feed="world-cup",
        file="worldcup98_requests_per_minute.csv.gz",
        service="www",
        time="period",
        value="count",
        zone=ZoneInfo("Europe/Paris"),
        clock=ZoneInfo("UTC"),
        interval=60,
        window=30,
        holidays=holidays.country_holidays("FR", years=1998),
    ),
]


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.feed)
def test_a_capture_becomes_a_baseline_that_a_second_computation_agrees_with(platform_stack: Instance, capture: Capture):
    api, dag = AirflowApi(platform_stack), f"bootstrap_feed.{capture.feed}"
    api.unpause(dag)
    conf = {"path": str(SAMPLES / capture.file), "service": capture.service, "timezone": str(capture.clock)}
    conf |= {"time_column": capture.time, "value_column": capture.value}
    run = api.call("POST", f"dags/{dag}/dagRuns", json={"logical_date": None, "conf": conf})["dag_run_id"]
    watch(api, dag, run, print, 600)
    rows = (
        deltalake.DeltaTable(str(platform_stack.lake / "baseline" / capture.feed.replace("-", "_")))
        .to_pyarrow_table()
        .to_pylist()
    )
    expected = capture.baseline()
    assert sorted((row["ServiceName"], row["DayType"]) for row in rows) == [(capture.service, day) for day in range(1, 8)]
    for row in rows:
        averages, samples, spreads, dates = expected[row["DayType"]]
        assert row["Last4Avg"] == averages
        assert row["Samples"] == samples
        assert row["Spread"] == [spread if spread is None else pytest.approx(spread, rel=1e-12) for spread in spreads]
        assert (row["Growth"], row["Dates"]) == (1.0, dates)


def test_a_capture_with_mistakes_loads_nothing_and_names_them_all(platform_stack: Instance, tmp_path):
    api, dag = AirflowApi(platform_stack), "bootstrap_feed.road-traffic"
    history = platform_stack.lake / "history" / "road_traffic"

    def version() -> int:
        return deltalake.DeltaTable(str(history)).version() if deltalake.DeltaTable.is_deltatable(str(history)) else -1

    api.unpause(dag)
    before = version()
    capture = tmp_path / "roads.csv"
    capture.write_text("ServiceName,Timestamp,Value\nI-94,noon,5\nI-94,2018-10-01 00:00:00,-5\n")
    run = api.call("POST", f"dags/{dag}/dagRuns", json={"logical_date": None, "conf": {"path": str(capture)}})["dag_run_id"]
    with pytest.raises(StackError) as failed:
        watch(api, dag, run, print, 300)
    assert "noon" in str(failed.value)
    assert "-5" in str(failed.value)
    assert version() == before
    api.call("PATCH", f"dags/{dag}/dagRuns/{run}", params={"update_mask": "state"}, json={"state": "failed"})
