"""Counts of an access log: each interval of each service is emitted once, zeros included, however lines come in batches."""

from collections import defaultdict

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.tws_tester import TwsTester

from jobs.transforms.queries.access_log import NEVER, _Counts, with_zeros

SECOND = 1000
INTERVAL, LATENESS, FORGET = 10 * SECOND, 20 * SECOND, 100 * SECOND
LINES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 400)), min_size=1, max_size=30)


def expected(lines: list[tuple[str, int]], over: int) -> dict[tuple[str, int], int]:
    """Readings of all intervals before `over`, of lines (service, second), interval by interval."""
    counts = defaultdict(int)
    for service, second in lines:
        counts[service, second * SECOND // INTERVAL * INTERVAL] += 1
    found = {}
    for service in {service for service, _ in lines}:
        starts = sorted(start for name, start in counts if name == service)
        for start in range(starts[0], over, INTERVAL):
            last = max(each for each in starts if each <= start)
            if start <= last + FORGET:
                found[service, start] = counts[service, start]
    return found


class Log:
    """The processor of one feed between batches; the machine's clock is moved by hand. Seconds are those of the log."""

    def __init__(self):
        self.tester = TwsTester(_Counts({"calls": (INTERVAL, LATENESS, FORGET)}), timeMode="ProcessingTime")
        self.readings: dict[tuple[str, int], int] = {}
        self.late: dict[tuple[str, int], int] = defaultdict(int)

    def batch(self, *lines: tuple[str, int], behind: int = 0) -> None:
        """Lines (service, second); they come `behind` seconds after the newest of them was written."""
        came = max(second for _, second in lines) + behind
        rows = [{"ServiceName": name, "Value": 1, "At": second * SECOND, "Came": came * SECOND} for name, second in lines]
        self._keep(self.tester.testInPandas("calls", pd.DataFrame(rows)))

    def silence(self, until: int) -> None:
        """The machine's clock goes on to that second."""
        self._keep(self.tester.setProcessingTime(until * SECOND))

    def at(self, second: int) -> "Log":
        self.tester.setProcessingTime(second * SECOND)
        return self

    def _keep(self, rows: pd.DataFrame) -> None:
        for row in rows.to_dict("records"):
            place = row["ServiceName"], row["Start"]
            if row["Late"]:
                self.late[place] += row["Value"]
            else:
                assert place not in self.readings, "a reading is emitted once"
                self.readings[place] = row["Value"]


@given(LINES, st.lists(st.integers(1, 10), max_size=10), st.integers(0, 15))
def test_any_batches_of_lines_in_time_end_in_the_counts_of_every_interval(lines, sizes, jitter):
    """Lines are out of order by less than the lateness. In the end the old log is silent for longer than that."""
    ordered = sorted(lines, key=lambda line: line[1] + jitter * (line[0] == "a"))
    log, rest = Log(), list(ordered)
    for size in [*sizes, len(ordered)]:
        part, rest = rest[:size], rest[size:]
        if part:
            log.batch(*part, behind=1_000_000)
    newest = max(second for _, second in lines) * SECOND
    log.silence(1000)
    assert log.readings == expected(lines, newest // INTERVAL * INTERVAL + INTERVAL)
    assert not log.late


@given(LINES, st.integers(0, 50))
def test_telling_in_two_steps_is_telling_at_once(lines, steps):
    seen = [(name, second * SECOND // INTERVAL * INTERVAL, 1) for name, second in lines]
    counts = pd.DataFrame(seen, columns=["ServiceName", "Start", "Value"])
    counts = counts.groupby(["ServiceName", "Start"], as_index=False)["Value"].sum()
    none, middle, end = counts[:0], steps * INTERVAL, 500 * SECOND
    first, known = with_zeros(counts, none, NEVER, middle, INTERVAL, FORGET)
    second, _ = with_zeros(counts[counts["Start"] >= middle], known, middle, end, INTERVAL, FORGET)
    rows = pd.concat([first, second])
    assert dict(zip(zip(rows["ServiceName"], rows["Start"], strict=True), rows["Value"], strict=True)) == expected(lines, end)
    assert len(rows) == len(expected(lines, end))


def starts(log: Log, service: str) -> list[tuple[int, int]]:
    return sorted((start // SECOND, value) for (name, start), value in log.readings.items() if name == service)


def test_an_interval_is_emitted_once_a_line_is_past_it_by_the_lateness():
    log = Log()
    log.batch(("a", 5), ("b", 12))
    log.batch(("a", 29))
    assert not log.readings
    log.batch(("a", 30))
    assert log.readings == {("a", 0): 1}
    log.batch(("a", 15), ("a", 41))
    assert log.readings == {("a", 0): 1, ("a", 10_000): 1, ("b", 10_000): 1}


def test_a_line_that_comes_after_its_interval_was_emitted_is_emitted_as_late():
    log = Log()
    log.batch(("a", 5), ("a", 31))
    log.batch(("a", 7), ("b", 8), ("a", 9), ("a", 15))
    assert log.readings == {("a", 0): 1}
    assert log.late == {("a", 0): 2, ("b", 0): 1}


def test_silence_of_a_live_log_is_zeros_until_its_services_are_forgotten():
    log = Log().at(1000)
    log.batch(("a", 1000), ("b", 955))
    log.silence(1029)
    assert ("a", 1000_000) not in log.readings
    log.silence(1030)
    assert starts(log, "a") == [(1000, 1)]
    log.silence(1050)
    assert starts(log, "a") == [(1000, 1), (1010, 0), (1020, 0)]
    log.silence(2000)
    assert starts(log, "a") == [(1000, 1), *((second, 0) for second in range(1010, 1110, 10))]
    assert [second for second, _ in starts(log, "b")][-1] == 1050
    assert list(log.tester.handle._timers.getAllKeysWithTimers()) == [], "nothing more is waited for"


def test_silence_of_an_old_log_ends_with_its_last_line():
    log = Log().at(5000)
    log.batch(("a", 0), ("a", 25), behind=4000)
    log.silence(5004)
    assert starts(log, "a") == []
    log.silence(5014)
    assert starts(log, "a") == [(0, 1)]
    log.silence(6000)
    assert starts(log, "a") == [(0, 1), (10, 0), (20, 1)]


def test_a_server_whose_clock_is_ahead_ends_no_interval():
    log = Log()
    log.batch(("a", 5))
    log.tester.testInPandas("calls", pd.DataFrame([{"ServiceName": "a", "Value": 1, "At": 900 * SECOND, "Came": 6 * SECOND}]))
    log.batch(("a", 7))
    assert (log.readings, log.late) == ({}, {})
