"""One record of a derived topic: decoded, checked, taken into memory, and made the event that pages get."""

import math
import re

from contracts.feeds import Feed
from serving import series
from serving.decoder import Decoder, Undecodable
from serving.events import ANOMALY, SCORED, Event
from serving.memory import Anomaly, Memory, Reading


class Intake:
    def __init__(self, memory: Memory, decoder: Decoder):
        self._memory, self._decoder = memory, decoder

    def take(self, feed: Feed, record: str, key: bytes | None, value: bytes | None) -> Event | None:
        """The event of a record of the feed; None: it deletes another, or a newer one is known. `record`: "scored" or "anomaly".

        Raises Undecodable, or RegistryUnavailable before anything was taken.
        """
        if value is None:
            self._forget(feed, record, key)
            return None
        row = self._decoder.decode(value, record)
        _check(row)
        return self._keep(feed, record, row)

    def _keep(self, feed: Feed, record: str, row: dict) -> Event | None:
        at, service = round(row["Timestamp"].timestamp() * 1000), row["ServiceName"]
        common = (at, row["Value"], row["Expected"], row["Spread"], row["PredictedPct"])
        if record == "scored":
            reading = Reading(*common, row["Anomalous"], row["BaselineVersion"])
            stays = self._memory.put_reading(feed.name, service, reading)
            return Event(SCORED, feed.name, service, reading) if stays else None
        anomaly = Anomaly(service, *common, row["BaselineVersion"])
        self._memory.put_anomaly(feed.name, anomaly)
        return Event(ANOMALY, feed.name, service, anomaly)

    def _forget(self, feed: Feed, record: str, key: bytes | None) -> None:
        """A record without value deletes its key, `<ServiceName>|<epoch milliseconds>`."""
        named = re.fullmatch(r"(.+)\|(-?[0-9]{1,19})", (key or b"").decode(errors="replace"), re.DOTALL)
        if named is None:
            raise Undecodable(f"deletes the key {(key or b'')[:100]!r}, which is not <ServiceName>|<epoch milliseconds>")
        forget = self._memory.forget_reading if record == "scored" else self._memory.forget_anomaly
        forget(feed.name, named[1], int(named[2]))


def _check(row: dict) -> None:
    """Raises Undecodable where the API could not show the record: JSON has no NaN, and a time zone no day before the first."""
    for name in ("Expected", "Spread", "PredictedPct"):
        if row[name] is not None and not math.isfinite(row[name]):
            raise Undecodable(f"{name} is {row[name]}")
    if not series.FIRST <= row["Timestamp"] <= series.LAST:
        raise Undecodable(f"Timestamp is {row['Timestamp']}, which is not between {series.FIRST:%Y} and {series.LAST:%Y}")
