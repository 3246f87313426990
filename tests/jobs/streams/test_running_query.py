"""What a query says of itself, as far as it needs no session."""

from types import SimpleNamespace

from jobs.streams.running_query import RunningQuery


class Live:
    """Spark's query after some batches. read: how often all its progress was read, which is costly."""

    def __init__(self):
        self.read, self._batches = 0, list[SimpleNamespace]()

    def batch(self, number: int, late: int) -> None:
        self._batches.append(SimpleNamespace(batchId=number, stateOperators=[SimpleNamespace(numRowsDroppedByWatermark=late)]))

    @property
    def lastProgress(self) -> SimpleNamespace | None:
        return self._batches[-1] if self._batches else None

    @property
    def recentProgress(self) -> list[SimpleNamespace]:
        self.read += 1
        return self._batches


def test_late_rows_are_counted_once_for_each_batch_and_not_looked_for_without_a_new_one():
    query, live = RunningQuery.__new__(RunningQuery), Live()
    query._query, query._seen, query._late = live, -1, 0
    query._count_late()
    assert (live.read, query._late) == (0, 0)
    live.batch(0, 2)
    live.batch(1, 3)
    for _ in range(3):
        query._count_late()
    assert (live.read, query._late) == (1, 5)
    live.batch(2, 1)
    query._count_late()
    assert (live.read, query._late) == (2, 6)
