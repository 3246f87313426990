"""The readings that a query counts from the lines of an access log, counted a second time in plain Python."""

import datetime as dt
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import cast

import fastavro
from confluent_kafka import Message

from bench.chaos.verify import Findings

INTERVAL = 10_000  # milliseconds, as web-requests declares
SERVICES = {"shuttle", "images", "history", "software", "icons", "elv", "cgi-bin", "facilities", "htbin", "facts"}
OTHERS = "other"
LINE = re.compile(rb'\[([^\]]+)\] "GET /([^/ ]*)')  # of what `others.lines` writes
HEADER = 5  # bytes before an Avro value
READING = fastavro.parse_schema(
    {"type": "record", "name": "reading", "fields": [{"name": "Timestamp", "type": "long"}, {"name": "Value", "type": "long"}]}
)
Counts = Counter[tuple[str, int]]  # by service and start of the interval, epoch ms


def of_lines(lines: Iterable[Message]) -> Counts:
    """How many lines each service has in each interval."""
    found: Counts = Counter()
    for each in lines:
        time, segment = LINE.search(each.value()).groups()
        at = int(dt.datetime.strptime(time.decode(), "%d/%b/%Y:%H:%M:%S %z").timestamp() * 1000)
        service = segment.decode()
        found[service if service in SERVICES else OTHERS, at // INTERVAL * INTERVAL] += 1
    return found


def of_readings(records: Iterable[Message]) -> Iterator[tuple[str, int, int]]:
    """Service, start and value of the records of a counted feed, or of what came too late for it."""
    for each in records:
        row = cast(dict, fastavro.schemaless_reader(io.BytesIO(each.value()[HEADER:]), READING))
        yield each.key().decode(), row["Timestamp"], row["Value"]


def compare(
    lines: Counts, readings: Iterable[tuple[str, int, int]], late: Iterable[tuple[str, int, int]], findings: Findings
) -> int:
    """Each line is in its reading, or in what came late for it, which may be sent more than once; how many readings there are."""
    counted: dict[tuple[str, int], int] = {}
    for service, start, value in readings:
        if counted.setdefault((service, start), value) != value:
            findings.add("counted_twice", f"{service!r} at {start} is {counted[service, start]} and {value}")
    came_late: Counts = Counter()
    for service, start, value in late:
        came_late[service, start] += value
    for place in sorted(counted.keys() | lines.keys()):
        value, right = counted.get(place, 0), lines[place]
        if value > right or value + came_late[place] < right:
            found = f"{value} and {came_late[place]} late" if came_late[place] else value
            findings.add("counted_wrong", f"{place[0]!r} at {place[1]} is {found}, the log has {right} lines")
    return len(counted)
