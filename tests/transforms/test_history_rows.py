"""Of several rows for one reading, the one that the broker took last."""

import datetime as dt
import random

import pytest

from jobs.transforms import history_rows

AT = dt.datetime(2026, 11, 21, 11, 6, 40, tzinfo=dt.UTC)
READING = "ServiceName string, Timestamp timestamp, Value long, KafkaPartition int, KafkaOffset long, KafkaTimestamp timestamp"


def taken(seconds: float) -> dt.datetime:
    return AT + dt.timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "oldest_first",
    [
        pytest.param([(0, 5, taken(1)), (0, 6, taken(2)), (0, 7, taken(2))], id="one partition"),
        pytest.param([(0, 900, taken(1)), (3, 2, taken(2))], id="partitions were added"),
        pytest.param([(0, 900, taken(1)), (0, 0, taken(3600))], id="the topic was made anew"),
        pytest.param([(-1, -1, None), (0, 0, taken(1))], id="a capture, then the topic"),
        pytest.param([(0, 7, None), (0, 8, None), (0, 0, taken(1))], id="rows of an older release, then one of this"),
    ],
)
def test_the_row_that_the_broker_took_last_stays(spark, oldest_first):
    rows = [("www", AT, 100 + number, *each) for number, each in enumerate(oldest_first)]
    others = [("www", taken(10), 7, 0, 1, taken(1)), ("login", AT, 8, 0, 2, taken(1))]
    shuffled = random.sample(rows + others, len(rows) + 2)
    placed = history_rows.placed(spark.createDataFrame(shuffled, READING), "UTC", 10)
    assert placed.columns == list(history_rows.COLUMNS)
    found = [(row.ServiceName, row.Value) for row in history_rows.latest(placed, 2).orderBy("ServiceName", "Timestamp").collect()]
    assert found == [("login", 8), ("www", 99 + len(rows)), ("www", 7)]
