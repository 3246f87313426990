"""One record of a derived topic: decoded, checked, taken into memory, and made the event that pages get."""

import datetime as dt
import math
import re
from collections.abc import Container

from contracts.feeds import Feed
from serving import series
from serving.decoder import Decoder, Undecodable
from serving.incidents import Incident, Incidents
from serving.kept_events import ANOMALY, INCIDENT, SCORED, Event
from serving.memory import Anomaly, Memory, Reading


class Intake:
    def __init__(self, memory: Memory, incidents: Incidents, decoder: Decoder):
        self._memory, self._incidents, self._decoder = memory, incidents, decoder

    def keep(self, feeds: Container[str]) -> None:
        """Lets all other feeds go."""
        self._memory.keep(feeds)
        self._incidents.keep(feeds)

    def take(self, feed: Feed, record: str, key: bytes | None, value: bytes | None, taken: int) -> Event | None:
        """The event of a record of the feed; None: it deletes another, or a newer one is known. `record`: "scored", "anomaly" or
        "incident". `taken`: when the broker took it, epoch milliseconds; rows of earlier releases do not say when it took the
        reading, and count as if that were then.

        Raises Undecodable, or RegistryUnavailable before anything was taken.
        """
        if value is None:
            self._forget(feed, record, key)
            return None
        row = self._decoder.decode(value, record)
        _check(row)
        return self._keep_incident(feed, row) if record == "incident" else self._keep(feed, record, row, taken)

    def _keep(self, feed: Feed, record: str, row: dict, taken: int) -> Event | None:
        at, service = _milliseconds(row["Timestamp"]), row["ServiceName"]
        common = (at, row["Value"], *_judged_by(feed, record, row))
        version_and_place = (row["BaselineVersion"], *_place(row, taken))
        if record == "scored":
            reading = Reading(*common, row["Anomalous"], *version_and_place)
            stays = self._memory.put_reading(feed.name, service, reading)
            return Event(SCORED, feed.name, service, reading) if stays else None
        anomaly = Anomaly(service, *common, *version_and_place)
        stays = self._memory.put_anomaly(feed.name, anomaly)
        return Event(ANOMALY, feed.name, service, anomaly) if stays else None

    def _keep_incident(self, feed: Feed, row: dict) -> Event:
        times = {name: _milliseconds(row[name]) for name in ("Start", "Last", "At", "End", "PeakAt") if row[name] is not None}
        cells = {_snake(name): times.get(name, cell) for name, cell in row.items()}
        incident = Incident(service=cells.pop("service_name"), **cells)
        self._incidents.put(feed.name, incident)
        return Event(INCIDENT, feed.name, incident.service, incident)

    def _forget(self, feed: Feed, record: str, key: bytes | None) -> None:
        """A record without value deletes its key: of an incident its id, else `<ServiceName>|<epoch milliseconds>`."""
        text = (key or b"").decode(errors="replace")
        if record == "incident":
            return self._incidents.forget(feed.name, text)
        named = re.fullmatch(r"(.+)\|(-?[0-9]{1,19})", text, re.DOTALL)
        if named is None:
            raise Undecodable(f"deletes the key {(key or b'')[:100]!r}, which is not <ServiceName>|<epoch milliseconds>")
        forget = self._memory.forget_reading if record == "scored" else self._memory.forget_anomaly
        forget(feed.name, named[1], int(named[2]))


def _judged_by(feed: Feed, record: str, row: dict) -> tuple[float | None, float | None, float | None]:
    """(what was expected, its spread, and the value in percent of it), as the feed's rule goes by them. An anomaly of a time when
    another rule was declared has what it was judged by then."""
    level = row["Level"]
    if feed.rule.normal == "plain" or (level is None and record == "anomaly"):
        return row["Expected"], row["Spread"], row["PredictedPct"]
    return level, row["Scale"], 100.0 * row["Value"] / level if level else None


def _place(row: dict, taken: int) -> tuple[int, int]:
    """When the broker took the reading, and its offset."""
    at, offset = row["KafkaTimestamp"], row["KafkaOffset"]
    return (taken, -1) if at is None or offset is None else (_milliseconds(at), offset)


def _check(row: dict) -> None:
    """Raises Undecodable where the API could not show the record: JSON has no NaN, and a time zone no day before the first."""
    for name, cell in row.items():
        if isinstance(cell, float) and not math.isfinite(cell):
            raise Undecodable(f"{name} is {cell}")
        if isinstance(cell, dt.datetime) and not series.FIRST <= cell <= series.LAST:
            raise Undecodable(f"{name} is {cell}, which is not between {series.FIRST:%Y} and {series.LAST:%Y}")


def _milliseconds(at: dt.datetime) -> int:
    return round(at.timestamp() * 1000)


def _snake(name: str) -> str:
    """LevelShift: level_shift."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
