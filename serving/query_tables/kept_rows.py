"""The last record of each key of a topic, by key."""

from bisect import bisect_left, bisect_right
from typing import NamedTuple

OVERHEAD = 300  # bytes that a record costs beside its key and its value


class Record(NamedTuple):
    """at: epoch milliseconds, when Kafka took it."""

    value: bytes
    partition: int
    offset: int
    at: int


class KeptRows:
    """Not safe to use from several threads. `size`: bytes, about."""

    def __init__(self) -> None:
        self._records: dict[bytes, Record] = {}
        self._keys: list[bytes] | None = []  # in order; None: they have changed
        self.size = 0

    def put(self, key: bytes, record: Record) -> None:
        before = self._records.get(key)
        if before is None:
            self._keys = None
            self.size += OVERHEAD + len(key)
        self.size += len(record.value) - (len(before.value) if before else 0)
        self._records[key] = record

    def remove(self, key: bytes) -> None:
        if (before := self._records.pop(key, None)) is not None:
            self._keys = None
            self.size -= OVERHEAD + len(key) + len(before.value)

    def remove_before(self, partition: int, offset: int) -> None:
        """What the partition no longer has."""
        for key in [key for key, each in self._records.items() if each.partition == partition and each.offset < offset]:
            self.remove(key)

    def between(self, first: bytes, last: bytes | None, after: bytes | None, limit: int) -> list[tuple[bytes, Record]]:
        """The first `limit` keys from `first` to `last`, both included, that are greater than `after`. Keys ascend as bytes.
        last None: to the end."""
        if self._keys is None:
            self._keys = sorted(self._records)
        keys = self._keys
        begin = bisect_left(keys, first) if after is None else max(bisect_left(keys, first), bisect_right(keys, after))
        end = len(keys) if last is None else bisect_right(keys, last)
        return [(key, self._records[key]) for key in keys[begin : min(end, begin + limit)]]

    def beginning_with(self, prefix: bytes, after: bytes | None, limit: int) -> list[tuple[bytes, Record]]:
        found = self.between(prefix, None, after, limit)
        return [(key, record) for key, record in found if key.startswith(prefix)]
