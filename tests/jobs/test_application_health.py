"""The health of an application of queries, as its heartbeat says it."""

from types import SimpleNamespace

from jobs import run_queries
from jobs.streams import lag_and_rates


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
    letters = SimpleNamespace(measure=lambda ends: {"dead_letters": ends["rides"][0]})
    worst = {"lag_records": 9, "lag_seconds": 3.0, "stalled_seconds": 2.0, "input_per_second": 1.5, "dead_letters": 7}
    assert run_queries._measured(ends, [slow, Measured(lag_records=9, input_per_second=None), Measured()], letters) == worst
    assert asked == [1]
    assert run_queries._measured(ends, [Measured()], letters) == {}


def test_dead_letters_are_counted_since_the_driver_began_and_their_rate_over_ten_seconds(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(lag_and_rates.time, "monotonic", lambda: clock[0])
    letters = lag_and_rates.DeadLetters(
        {"a.dead-letter", "b.dead-letter"}, {"a.dead-letter": {0: 5}, "b.dead-letter": {0: 1, 1: 1}, "a": {0: 9}}
    )

    def after(seconds: float, a: int) -> tuple[int, float | None]:
        clock[0] += seconds
        found = letters.measure({"a.dead-letter": {0: a}, "b.dead-letter": {0: 1, 1: 2}, "a": {0: 99}})
        return found["dead_letters"], found["dead_letters_per_second"]

    assert after(0, 5) == (1, None)
    assert after(5, 15) == (11, 2.0)
    assert after(5, 25) == (21, 2.0)
    assert after(5, 25) == (21, 1.0)
    assert after(30, 25) == (21, 0.0)
