"""What the robust normal promises, from the dates that a night takes to the verdict on a reading."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from contracts.feeds import Feed, Rule
from contracts.public_holidays import Holidays
from jobs import build_baseline
from jobs.transforms import packed
from jobs.transforms.scoring import score

FEED = Feed(
    name="calls",
    description="calls in half an hour",
    record="service_use_record",
    interval_seconds=1800,
    spread_window_seconds=5400,
    timezone="America/New_York",
    holidays=Holidays(country="US"),
    rule=Rule(normal="robust", percent=5, spread=6, minimum=20),
)
PLAIN = FEED.rule.model_copy(update={"normal": "plain"})
COLUMBUS_DAY, SUNDAY = dt.date(2026, 10, 12), dt.date(2026, 11, 1)  # the Sunday is three weeks later
SURGE = slice(20, 28)  # from ten to two
READINGS = "ServiceName string, Timestamp timestamp, Value long"


def usual(date: dt.date, works: bool) -> np.ndarray:
    """Poisson counts by half an hour: office hours on a day on which people work, else an evening peak."""
    hour = np.arange(FEED.slots) / 2
    peak, height, width = (13, 3.0, 3) if works else (19, 1.0, 4)
    random = np.random.default_rng(date.toordinal())
    return random.poisson(400 * (0.3 + height * np.exp(-(((hour - peak) / width) ** 2))) * random.normal(1, 0.03))


def history(until: dt.date) -> dict[dt.date, np.ndarray]:
    """Twenty weeks up to that date, excluded. On Columbus Day people worked as on any Monday."""
    dates = [until - dt.timedelta(days=back) for back in range(140, 0, -1)]
    return {date: usual(date, date.isoweekday() < 6) for date in dates}


def night(days: dict[dt.date, np.ndarray], as_of: dt.date) -> dict:
    """The row of the baseline, as of that date, for its day type."""
    source = build_baseline.sources(FEED, as_of, [], {})[FEED.calendar.day_type(as_of)]
    here = {date: days[date] for date in source.dates}
    slots, count = np.arange(FEED.slots, dtype=np.int32).tobytes(), len(here)
    runs = pa.table(
        {
            "ServiceName": ["calls"] * count,
            "Date": pa.array(list(here), pa.date32()),
            "Slots": pa.array([slots] * count, pa.binary()),
            "Values": pa.array([values.astype(np.int64).tobytes() for values in here.values()], pa.binary()),
        }
    )
    (found,) = packed.row("calls", runs, source, build_baseline.how(FEED)).to_pylist()
    return found


def flagged(spark, row: dict, date: dt.date, values: np.ndarray, rule: Rule) -> list[bool]:
    """By slot, whether the reading is an anomaly."""
    midnight = dt.datetime.combine(date, dt.time(), FEED.zone)
    at = [(midnight + dt.timedelta(minutes=30 * slot)).astimezone(dt.UTC) for slot in range(FEED.slots)]  # by the clock
    readings = spark.createDataFrame([("calls", when, int(value)) for when, value in zip(at, values, strict=True)], READINGS)
    baseline = spark.createDataFrame([tuple(row[name] for name in packed.COLUMNS)], packed.PACKED)
    day_types = FEED.calendar.other_day_types(dt.date(2026, 1, 1), dt.date(2026, 12, 31))
    rows = score(readings, baseline, FEED.timezone, FEED.interval_seconds, day_types, rule.model_dump()).collect()
    return [found.Anomalous for found in sorted(rows, key=lambda each: each.Timestamp)]


def test_a_holiday_on_which_nothing_changed_hides_no_surge_three_weeks_later(spark):
    """Columbus Day is declared to count as a Sunday. People worked, so the mean and spread of four Sundays are of both kinds."""
    row = night(history(SUNDAY), SUNDAY)
    assert COLUMBUS_DAY in row["Dates"]
    day = usual(SUNDAY, works=False)
    day[SURGE] *= 2
    surge = np.zeros(FEED.slots, bool)
    surge[SURGE] = True
    assert flagged(spark, row, SUNDAY, day, FEED.rule) == surge.tolist()
    assert flagged(spark, row, SUNDAY, day, PLAIN) == [False] * FEED.slots


@pytest.mark.parametrize("weeks_later", [1, 2, 3, 4])
def test_an_outage_of_four_hours_leaves_the_band_of_the_next_weeks_as_it_was(weeks_later):
    """The mean of the last four dates is a quarter too low in these hours, until the outage is five dates ago."""
    outage = dt.date(2026, 9, 16)  # a Wednesday
    as_of = outage + dt.timedelta(weeks=weeks_later)
    quiet = history(as_of)
    hit = quiet | {outage: quiet[outage].copy()}
    hit[outage][SURGE] = 0
    before, after = night(quiet, as_of), night(hit, as_of)
    level, scale = (np.array(before[name]) for name in ("Level", "Scale"))
    for edge in (-6, 6):
        moved = np.array(after["Level"]) + edge * np.array(after["Scale"]) - (level + edge * scale)
        assert np.abs(moved / level).max() < 0.2
    assert np.abs(np.array(after["Level"]) / level - 1).max() < 0.03
    plain = np.array(after["Last4Avg"])[SURGE] / np.array(before["Last4Avg"])[SURGE]
    assert plain.mean() == pytest.approx(0.75, abs=0.03)
