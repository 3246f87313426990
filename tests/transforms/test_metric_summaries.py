"""Summaries, from whatever batches events come in, are those of the events as they are in the end, computed in plain Python."""

import datetime as dt
import math
from collections import defaultdict

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.tws_tester import TwsTester

from jobs.backends.spark import with_state
from jobs.transforms import sketch
from jobs.transforms.queries.metric_summaries import PART, WINDOW, _Summaries, metric_summaries

MINUTE = 60_000
LATENESS = 15 * MINUTE
KEYS = ["environment=prod:metric=dbWaitTime", "environment=test:metric=dbWaitTime"]


def event(key: int, number: int, at: int, value: float, came: int | None = None) -> dict:
    """An event `number` of a key; `at` and `came` in ms."""
    return {
        "Key": KEYS[key],
        "Id": f"e{number}",
        "Hash": hash((key, number, at)),
        "At": at,
        "Came": at if came is None else came,
        "Value": value,
    }


class Query:
    """The processor between batches, with what a reader keeps of its output: the newest revision of each key and window."""

    def __init__(self, corrections: bool = True):
        self.tester = TwsTester(_Summaries(LATENESS, corrections))
        self.offset, self.kept, self.late, self.revisions = 0, {}, [], defaultdict(list)
        self.late_cells = set()

    def batch(self, *events: dict) -> None:
        rows = pd.DataFrame([each | {"Offset": self.offset + n} for n, each in enumerate(events)])
        self.offset += len(events)
        came: pd.DataFrame = self.tester.testInPandas(0, rows)
        for row in came.to_dict("records"):
            if pd.isna(row["Timestamp"]):
                place = row["Key"], int(row["WindowStart"])
                self.kept[place] = row
                self.revisions[place].append(row["Revision"])
            else:
                self.late_cells |= {row[name] for name in ("Bins", "Counts")}
                self.late.append((row["Key"], row["Id"], int(row["Timestamp"]), row["Value"]))

    def state(self) -> list[int]:
        """Starts of the parts whose state is kept."""
        return sorted(start for (start,), _ in self.tester.peekMapState("parts", 0).items())


def summary(values: list[float]) -> dict:
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / len(values)
    ranked = sorted(values)
    exact = {name: ranked[math.floor(q * (len(values) - 1))] for name, q in {"P50": 0.5, "P90": 0.9, "P99": 0.99}.items()}
    return {"Count": len(values), "Average": mean, "Min": ranked[0], "Max": ranked[-1], "Variance": variance} | exact


def assert_as(found: dict, values: list[float]) -> None:
    expected = summary(values)
    size = max(abs(value) for value in values)
    assert (found["Count"], found["Min"], found["Max"]) == (expected["Count"], expected["Min"], expected["Max"])
    assert found["Average"] == pytest.approx(expected["Average"], rel=1e-9, abs=1e-9 * size)
    assert found["Variance"] == pytest.approx(expected["Variance"], rel=1e-9, abs=1e-9 * size * size)
    assert found["StandardDeviation"] == math.sqrt(found["Variance"])
    for name in ("P50", "P90", "P99"):
        assert found[name] == pytest.approx(expected[name], rel=sketch.ACCURACY * (1 + 1e-9))
    assert sum(found["Counts"]) == len(values)


EVENTS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 8), st.integers(0, 4), st.floats(-1e6, 1e6)), min_size=1, max_size=12
)


@given(st.lists(EVENTS, min_size=1, max_size=4))
def test_any_batches_end_in_the_summaries_of_the_last_value_of_each_event(batches):
    """Of two keys in half an hour; numbers repeat, so that there are corrections and repetitions. No window is over yet."""
    query, last = Query(), {}
    for batch in batches:
        events = [event(key, number, step * PART + number, value) for key, number, step, value in batch]
        query.batch(*events)
        last |= {(each["Key"], each["Id"], each["At"]): each["Value"] for each in events}
    values = defaultdict(list)
    for (key, _, at), value in last.items():
        values[key, at - at % WINDOW].append(value)
    assert query.kept.keys() == values.keys()
    for place, found in query.kept.items():
        assert_as(found, values[place])
    for revisions in query.revisions.values():
        assert revisions == list(range(1, len(revisions) + 1))
    assert not query.late


def test_a_correction_changes_its_key_alone_and_a_repetition_nothing():
    query = Query()
    query.batch(event(0, 1, 0, 10.0), event(0, 2, 1, 99.0), event(1, 3, 2, 5.0))
    query.batch(event(0, 2, 1, 20.0))
    query.batch(event(0, 2, 1, 20.0), event(1, 3, 2, 5.0))
    assert_as(query.kept[KEYS[0], 0], [10.0, 20.0])
    assert query.revisions == {(KEYS[0], 0): [1, 2], (KEYS[1], 0): [1]}


def test_of_a_batch_the_value_that_the_broker_took_last_counts_whatever_the_offsets():
    """The archive holds events of a topic that was made anew: its offsets begin again."""
    query = Query()
    query.batch(event(0, 1, 0, 20.0, came=2000), event(0, 1, 0, 10.0, came=1000))
    assert_as(query.kept[KEYS[0], 0], [20.0])


def test_an_event_is_corrected_by_one_of_the_same_key_id_and_time(spark):
    """Each row: Id, Timestamp, RowTime, RowOffset, Value."""
    rows = [
        ("a", 0, 10, 0, 1.0),
        ("a", 0, 11, 1, 2.0),  # corrects
        ("a", MINUTE, 12, 2, 4.0),
        (None, 0, 13, 3, 8.0),
        (None, 0, 14, 3, 16.0),  # of a topic that was made anew
    ]
    at = [
        (KEYS[0], id_, *(dt.datetime.fromtimestamp(ms / 1000, dt.UTC) for ms in (at, came)), *more)
        for id_, at, came, *more in rows
    ]
    columns = "MetricKey string, Id string, Timestamp timestamp, RowTime timestamp, RowOffset long, Value double"
    found = metric_summaries({"metrics": with_state(spark).createDataFrame(at, columns)}, 15, corrections=True, buckets=1)
    assert_as(found.first().asDict(), [2.0, 4.0, 8.0, 16.0])


def test_without_corrections_an_event_counts_each_time():
    query = Query(corrections=False)
    query.batch(event(0, 1, 0, 10.0))
    query.batch(event(0, 1, 0, 10.0))
    assert_as(query.kept[KEYS[0], 0], [10.0, 10.0])


def test_an_event_within_the_lateness_changes_its_window_and_one_beyond_it_is_told():
    query = Query()
    query.batch(event(0, 1, MINUTE, 1.0))
    query.batch(event(0, 2, WINDOW + LATENESS - 1, 2.0))
    query.batch(event(0, 3, 2 * MINUTE, 3.0))
    assert_as(query.kept[KEYS[0], 0], [1.0, 3.0])
    query.batch(event(0, 4, WINDOW + LATENESS, 4.0))
    query.batch(event(0, 5, 3 * MINUTE, 5.0), event(0, 6, WINDOW, 6.0))
    assert query.late == [(KEYS[0], "e5", 3 * MINUTE, 5.0)]
    assert query.late_cells == {None}, "Arrow takes no NaN for a list"
    assert_as(query.kept[KEYS[0], 0], [1.0, 3.0])
    assert_as(query.kept[KEYS[0], WINDOW], [6.0])


def test_state_of_windows_that_are_over_is_dropped():
    query = Query()
    query.batch(*(event(0, step, step * PART, 1.0) for step in range(4)))
    assert query.state() == [0, PART, 2 * PART, 3 * PART]
    query.batch(event(0, 9, WINDOW + LATENESS, 1.0))
    assert query.state() == [2 * PART, 3 * PART, WINDOW + LATENESS]
    assert {start for (start, _), _ in query.tester.peekMapState("logs", 0).items()} == set(query.state())
    assert {start for (start,), _ in query.tester.peekMapState("told", 0).items()} == {2 * PART, WINDOW + LATENESS - PART}


def test_a_clock_that_is_ahead_ends_no_window():
    """A producer whose clock is wrong by years: the broker took its event now."""
    query = Query()
    query.batch(event(0, 1, 0, 1.0))
    query.batch(event(0, 2, 10**13, 2.0, came=1000))
    query.batch(event(0, 3, 2000, 3.0))
    assert not query.late
    assert_as(query.kept[KEYS[0], 0], [1.0, 3.0])
