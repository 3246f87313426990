"""The health of an application of queries, as its heartbeat says it."""

from types import SimpleNamespace

from jobs import run_queries


class Measured:
    """A query whose backlog is known."""

    def __init__(self, **figures):
        self.figures = figures

    def measured(self, ends: dict[str, dict[int, int]]) -> dict:
        return self.figures and {"lag_records": ends["rides"][0], "lag_seconds": 0.0, "stalled_seconds": 0.0} | self.figures


def test_the_broker_is_asked_once_for_all_queries_and_the_worst_of_them_is_the_applications():
    asked: list[int] = []
    ends = SimpleNamespace(now=lambda: asked.append(1) or {"rides": {0: 7}})
    slow = Measured(lag_seconds=3.0, stalled_seconds=2.0, input_per_second=1.5)
    worst = {"lag_records": 9, "lag_seconds": 3.0, "stalled_seconds": 2.0, "input_per_second": 1.5}
    assert run_queries._measured(ends, [slow, Measured(lag_records=9, input_per_second=None), Measured()]) == worst
    assert asked == [1]
    assert run_queries._measured(ends, [Measured()]) == {}
