"""Events of incidents as rows of the contract `incident`, whose fields are documented there. Times are epoch milliseconds."""

import datetime as dt
from typing import Any

import pyarrow as pa

from jobs.transforms.detector.incident_life import Event
from jobs.transforms.detector.silence import Silence

RESULT = """Id string, ServiceName string, Kind string, State string, Start long, Last long, At long, End long, Score double,
    Cause string, LevelShift boolean, Readings long, Actual double, Expected double, Area double, Direction string, PeakAt long,
    Peak double, PeakExpected double, PeakSize double, Group string, Services long, Members array<string>"""
TIMES = ("Start", "Last", "At", "End", "PeakAt")
COLUMNS = [field.split()[0] for field in RESULT.split(",")]
_TYPES = {
    "string": pa.string(),
    "long": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "array<string>": pa.list_(pa.string()),
}
_NO_GROUP = (None, None, [])  # Group, Services, Members of an incident of one service that stands alone
# Of the table: the local date of the walk, and the columns.
SCHEMA = pa.schema({"Date": pa.date32()} | {field.split()[0]: _TYPES[field.split()[1]] for field in RESULT.split(",")})


def of_deviation(event: Event, interval: int) -> dict[str, Any]:
    """interval: milliseconds."""
    found = event.incident
    cells = (found.id, found.service, "deviation", event.state, found.onset, found.last, event.at)
    end = found.last + interval if event.state == "closed" else None
    figures = (found.actual, found.expected, found.area, found.direction)
    peak = (found.peak_at, found.peak, found.peak_expected, found.size)
    return _row(*cells, end, found.score, found.cause, found.shifted, found.readings, *figures, *peak, *_NO_GROUP)


def of_silence(event: Silence) -> dict[str, Any]:
    last = dt.datetime.fromtimestamp(event.last.at / 1000, dt.UTC)
    cause = f"no reading since {last:%Y-%m-%dT%H:%M:%SZ}, whose value was {event.last.value:g}"
    cells = (event.id, event.service, "silence", event.state, event.onset, event.last.at, event.at)
    return _row(*cells, event.at if event.state == "closed" else None, 0.0, cause, False, 0, *[None] * 8, *_NO_GROUP)


def _row(*cells: Any) -> dict[str, Any]:
    return dict(zip(COLUMNS, cells, strict=True))
