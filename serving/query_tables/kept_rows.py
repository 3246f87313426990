"""The last record of each key of a topic, by key."""

from bisect import bisect_left, bisect_right
from typing import NamedTuple

OVERHEAD = 300  # bytes that a record costs beside its key and its value


class Record(NamedTuple):
    """at: epoch milliseconds, when Kafka took it. value None: it removes its key."""

    value: bytes | None
    partition: int
    offset: int
    at: int


class KeptRows:
    """Not safe to use from several threads. `size`: bytes, about.

    A key that is in two partitions, as some were added, is what the record says that Kafka took later. Records that remove keys
    are therefore kept until `settle`.
    """

    def __init__(self) -> None:
        self._records: dict[bytes, Record] = {}
        self._keys: list[bytes] = []  # in order, but for those that were added or removed since
        self._added: set[bytes] = set()
        self._removed = False
        self._settled = False
        self._firsts: dict[int, int] = {}
        self.size = 0

    def put(self, key: bytes, record: Record) -> None:
        before = self._records.get(key)
        if before and before.partition != record.partition and before.at > record.at:
            return
        if record.value is None and self._settled:
            self._drop(key)
            return
        if before is None:
            self._added.add(key)
            self.size += OVERHEAD + len(key)
        self.size += len(record.value or b"") - len(before.value or b"" if before else b"")
        self._records[key] = record

    def settle(self) -> None:
        """Each partition was read to its end."""
        if not self._settled:
            self._settled = True
            for key in [key for key, each in self._records.items() if each.value is None]:
                self._drop(key)

    def forget_before(self, firsts: dict[int, int]) -> None:
        """What the partitions no longer have. firsts: the first offset of each."""
        if firsts != self._firsts:
            self._firsts = dict(firsts)
            for key in [key for key, each in self._records.items() if each.offset < firsts.get(each.partition, 0)]:
                self._drop(key)

    def _drop(self, key: bytes) -> None:
        if (before := self._records.pop(key, None)) is not None:
            self._added.discard(key)
            self._removed = True
            self.size -= OVERHEAD + len(key) + len(before.value or b"")

    def between(self, first: bytes, last: bytes | None, after: bytes | None, limit: int) -> list[tuple[bytes, Record]]:
        """The first `limit` keys from `first` to `last`, both included, that are greater than `after`. Keys ascend as bytes.
        last None: to the end. To be asked once it is settled."""
        keys = self._in_order()
        begin = bisect_left(keys, first) if after is None else max(bisect_left(keys, first), bisect_right(keys, after))
        end = len(keys) if last is None else bisect_right(keys, last)
        return [(key, self._records[key]) for key in keys[begin : min(end, begin + limit)]]

    def beginning_with(self, prefix: bytes, after: bytes | None, limit: int) -> list[tuple[bytes, Record]]:
        found = self.between(prefix, None, after, limit)
        return [(key, record) for key, record in found if key.startswith(prefix)]

    def _in_order(self) -> list[bytes]:
        if self._removed:
            self._keys = [key for key in self._keys if key in self._records and key not in self._added]
        if self._added:
            self._keys += sorted(self._added)
            self._keys.sort()  # two runs in order are merged, which takes little time
        self._added, self._removed = set(), False
        return self._keys
