"""The reference that the nightly benchmark compares with: DuckDB's SQL gives what the definition of the baseline says."""

import datetime as dt
import math
import statistics

import deltalake
import duckdb
import numpy as np
import pyarrow as pa
import pytest

from bench import history
from contracts.feeds import load_feed
from stack.instance import Instance

AS_OF = history.LAST + dt.timedelta(days=1)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory) -> history.Fleet:
    """Two services, 96 slots a day pooled by four; so short that some day types lack dates."""
    feed = load_feed("service-use").model_copy(update={"interval_seconds": 900, "spread_window_seconds": 3600})
    fleet = history.Fleet(Instance(tmp_path_factory.mktemp("fleet")), feed, services=2, days=24)
    history.generate(fleet)
    return fleet


def row(fleet: history.Fleet, service: str, day_type: int, dates: list[dt.date]) -> dict:
    """A row of the candidate by plain Python, from readings placed by the zone's own clock."""
    slots, windows = [[] for _ in range(fleet.feed.slots)], [[] for _ in range(fleet.feed.spread_windows)]
    for reading in [each for date in dates for each in history.readings(fleet, date).to_pylist()]:
        local = reading["Timestamp"].astimezone(fleet.feed.zone)
        assert local.date() == reading["Date"]
        if reading["ServiceName"] == service:
            slots[(local.hour * 60 + local.minute) // 15].append(reading["Value"])
    for slot, values in enumerate(slots):
        scale = math.sqrt(len(values) / (len(values) - 1))
        windows[slot // 4] += [abs(value - statistics.mean(values)) * scale for value in values]
    return {
        "ServiceName": service,
        "DayType": day_type,
        "Last4Avg": [float(statistics.mean(values)) for values in slots],
        "Samples": [len(values) for values in slots],
        "Spread": [1.4826022185056018 * statistics.median(each) for each in windows],
        "Dates": dates,
    }


def test_history_is_as_the_archive_leaves_it(fleet):
    table = deltalake.DeltaTable(str(fleet.history))
    assert len(table.file_uris()) == len(table.partitions()) == 24
    rows = table.to_pyarrow_table(filters=[("Date", "=", history.LAST)])
    assert rows.num_rows == 2 * 96
    assert rows.equals(rows.sort_by([("ServiceName", "ascending"), ("Timestamp", "ascending")]))
    assert {str(field.type) for field in rows.schema} == {"string", "timestamp[us, tz=UTC]", "int64", "int32", "date32[day]"}


def test_a_change_of_clocks_is_refused(fleet):
    with pytest.raises(ValueError, match="reach past a change of clocks"):
        _ = history.Fleet(fleet.instance, fleet.feed, 2, 250).utc_offset


def test_the_sql_says_what_the_definition_says_and_one_wrong_cell_is_found(fleet, tmp_path):
    dates = fleet.feed.calendar.baseline_dates(AS_OF)
    duckdb.connect().execute(history.script(fleet, dates, tmp_path))
    first = history.LAST - dt.timedelta(days=fleet.days - 1)
    held = {day_type: [day for day in days if day >= first] for day_type, days in dates.items()}
    rows = [row(fleet, service, day_type, days) for service in fleet.names for day_type, days in held.items()]
    write(fleet, rows)
    assert history.differences(fleet, dates, tmp_path) == []
    rows[3]["Last4Avg"][17] = np.nextafter(rows[3]["Last4Avg"][17], 0)
    rows[4]["Samples"][0] = None
    rows[5]["Dates"] = []
    write(fleet, rows)
    assert [each.split(":")[0] for each in history.differences(fleet, dates, tmp_path)] == [
        "Dates of day type 6",
        "Last4Avg",
        "Samples",
    ]


def write(fleet: history.Fleet, rows: list[dict]) -> None:
    deltalake.write_deltalake(str(fleet.candidate), pa.Table.from_pylist(rows), mode="overwrite", partition_by=["DayType"])
