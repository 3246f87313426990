"""A row of a baseline: the robust normal beside the plain figures, from the dates and the readings that count."""

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from jobs.transforms import baseline, normal, packed
from jobs.transforms.packed import How, Source

SLOTS, WINDOWS = 96, 24  # quarters of an hour, by hour
HOW = How(ZoneInfo("America/New_York"), 900, WINDOWS)
MONDAYS = [dt.date(2026, 8, 3) + dt.timedelta(weeks=week) for week in range(12)]
OUTAGE = (MONDAYS[9], 40, 56)  # from ten to two


def traffic(dates=MONDAYS, outage=None):
    """Poisson counts around a daily curve, by date and slot; nothing in the outage (date, slots)."""
    curve = 200 * (1 + 0.7 * np.sin(np.arange(SLOTS) / SLOTS * 2 * np.pi))
    found = {date: np.random.default_rng(date.toordinal()).poisson(curve) for date in dates}
    if outage:
        found[outage[0]][outage[1] : outage[2]] = 0
    return found


def runs(days):
    """One run of each date."""
    return pa.table(
        {
            "ServiceName": ["www"] * len(days),
            "Date": pa.array(list(days), pa.date32()),
            "Slots": pa.array([np.arange(SLOTS, dtype=np.int32).tobytes()] * len(days), pa.binary()),
            "Values": pa.array([values.astype(np.int64).tobytes() for values in days.values()], pa.binary()),
        }
    )


def row(days, last=None, dates=None, left_out=(), maintenance=()):
    source = Source(1, last or sorted(days)[-4:], dates or sorted(days)[-normal.DATES :], left_out, maintenance)
    found = packed.row("www", runs(days), source, HOW).to_pylist()
    return found[0] if found else None


def floats(values):
    return np.array([np.nan if value is None else value for value in values])


def ms(date, slot):
    local = dt.datetime.combine(date, dt.time(), dt.timezone(dt.timedelta(hours=-4))) + dt.timedelta(minutes=15 * slot)
    return round(local.timestamp() * 1000)


def test_a_row_has_the_last_four_dates_and_beside_them_the_normal_of_twelve():
    days = traffic()
    found, values = row(days), np.array([days[date] for date in MONDAYS], float)
    assert found["Last4Avg"] == values[-4:].mean(0).tolist()
    assert (found["Dates"], found["NormalDates"]) == (MONDAYS[-4:], MONDAYS)
    level, scale = normal.normal(values, WINDOWS)
    assert (found["Level"], found["Scale"]) == (level.tolist(), scale.tolist())
    assert found["LevelBefore"] == normal.normal(values[:-1], WINDOWS).level.tolist()


def test_an_outage_of_four_hours_leaves_the_band_of_the_next_weeks_as_it_was():
    """A promise. For four weeks after the outage, the mean of the last four dates is a quarter too low in these hours."""
    for weeks_later in range(1, 4):
        last = MONDAYS[: 9 + weeks_later]
        quiet, after = row(traffic(last)), row(traffic(last, OUTAGE))
        hours = slice(OUTAGE[1], OUTAGE[2])
        scale = floats(quiet["Scale"])
        for edge in (-6, 6):
            band, other = (floats(each["Level"]) + edge * floats(each["Scale"]) for each in (quiet, after))
            assert (np.abs(other - band) / scale).mean() < 0.25
            assert (np.abs(other - band) / floats(quiet["Level"]))[hours].max() < 0.2
        plain, lowered = floats(quiet["Last4Avg"])[hours], floats(after["Last4Avg"])[hours]
        assert (lowered / plain).mean() == pytest.approx(0.75, abs=0.03)


def test_readings_that_are_not_normal_count_nothing_in_the_normal_and_as_before_in_the_plain_figures():
    days = traffic(outage=OUTAGE)
    left_out = [("www", ms(*OUTAGE[:2]), ms(OUTAGE[0], OUTAGE[2]))]
    found, values = row(days, left_out=left_out), np.array([days[date] for date in MONDAYS], float)
    values[9, OUTAGE[1] : OUTAGE[2]] = np.nan
    assert found["Level"] == normal.normal(values, WINDOWS).level.tolist()
    assert found["Level"] != row(days)["Level"]
    assert found["Last4Avg"] == row(days)["Last4Avg"]
    assert row(days, left_out=[(None, *left_out[0][1:])]) == found  # of all services
    assert row(days, left_out=[("login", *left_out[0][1:])]) == row(days)  # of another
    assert row(days, maintenance=[("w+", *left_out[0][1:])]) == found  # of all whose name matches
    assert row(days, maintenance=[("w", *left_out[0][1:])]) == row(days)


def test_a_date_that_counts_nothing_is_none_of_the_normals_dates():
    days = traffic()
    whole = [("www", ms(MONDAYS[-1], 0), ms(MONDAYS[-1], SLOTS))]
    found = row(days, left_out=whole)
    assert found["NormalDates"] == MONDAYS[:-1]
    assert found["Dates"] == MONDAYS[-4:]


def test_below_two_dates_there_is_no_normal():
    found = row(traffic(MONDAYS[:1]))
    assert found["Level"] == found["Scale"] == found["LevelBefore"] == [None] * SLOTS
    assert row(traffic(MONDAYS[:2]))["LevelBefore"] == [None] * SLOTS
    assert None not in row(traffic(MONDAYS[:2]))["Level"]
    other = row(traffic(MONDAYS[:4]), dates=[dt.date(2026, 8, 4)])
    assert (other["Level"], other["NormalDates"]) == ([None] * SLOTS, [])


def test_a_service_without_a_reading_on_the_last_dates_has_no_row():
    assert row(traffic(MONDAYS[:8]), last=MONDAYS[8:], dates=MONDAYS) is None


def test_one_job_of_spark_makes_the_rows_of_all_services(spark):
    days = traffic()
    both = pa.concat_tables([runs(days), runs(days).set_column(0, "ServiceName", pa.array(["login"] * len(days)))])
    built = packed.build(spark.createDataFrame(both, baseline.RUNS), Source(1, MONDAYS[-4:], MONDAYS), HOW).collect()
    assert {each.ServiceName: each.asDict() | {"ServiceName": "www"} for each in built} == dict.fromkeys(
        ["www", "login"], row(days)
    )


def test_rows_of_an_earlier_release_have_no_normal(spark):
    earlier = ", ".join(f"{name} {kind}" for name, kind in packed.COLUMNS.items() if name not in packed.ROBUST)
    frame = packed.completed(spark.createDataFrame([("www", 1, [1.0], [2], [1.0], 1.0, [MONDAYS[0]])], earlier))
    assert frame.schema.names == list(packed.COLUMNS)
    (found,) = frame.collect()
    assert found.asDict() == dict(zip(packed.COLUMNS, ["www", 1, [1.0], [2], [1.0], 1.0, [MONDAYS[0]], *[None] * 4], strict=True))
    (again,) = packed.with_normal(pa.table({"ServiceName": ["www"], "Level": [[2.5]]})).to_pylist()
    assert again == {"ServiceName": "www", "Level": [2.5], "Scale": None, "LevelBefore": None, "NormalDates": None}
