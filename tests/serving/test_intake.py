"""What pages get of a scored reading is what the feed's rule goes by."""

import datetime as dt
from types import SimpleNamespace

import pytest

from contracts.feeds import Feed, Rule
from serving.incidents import Incidents
from serving.intake import Intake
from serving.memory import Memory
from tests.serving import derived

NOON = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)
PLAIN = Feed(name="f", description="d", record="service_use_record")
ROBUST = PLAIN.model_copy(update={"rule": Rule(normal="robust")})
JUDGED = derived.scored("a", NOON, 150, expected=100.0, spread=2.0, Level=120.0, Scale=6.0)


BY_BROKER = NOON + dt.timedelta(seconds=10)


def taken(feed: Feed, record: str, row: dict) -> tuple:
    """What is kept of the record: expected, spread, percent."""
    decoder = SimpleNamespace(decode=lambda value, record: row)
    event = Intake(Memory(10, 10, 10), Incidents(10), decoder).take(feed, record, b"key", b"value", 0)
    assert event
    return event.record.expected, event.record.spread, event.record.pct


@pytest.mark.parametrize("record", ["scored", "anomaly"])
def test_a_plain_rule_has_the_expected_value_and_a_robust_one_the_level(record):
    assert taken(PLAIN, record, JUDGED) == (100.0, 2.0, 150.0)
    assert taken(ROBUST, record, JUDGED) == (120.0, 6.0, 125.0)
    assert taken(ROBUST, record, JUDGED | {"Level": 0.0}) == (0.0, 6.0, None)


def test_a_reading_without_a_level_was_judged_by_nothing_and_an_anomaly_by_the_rule_of_then():
    unknown = JUDGED | {"Level": None, "Scale": None}
    assert taken(ROBUST, "scored", unknown) == (None, None, None)
    assert taken(ROBUST, "anomaly", unknown) == (100.0, 2.0, 150.0)


@pytest.mark.parametrize("record", ["scored", "anomaly"])
def test_a_row_says_which_reading_it_is_of_and_a_row_of_an_earlier_release_when_it_was_written(record):
    def kept(row: dict):
        decoder = SimpleNamespace(decode=lambda value, record: row)
        return Intake(Memory(10, 10, 10), Incidents(10), decoder).take(PLAIN, record, b"key", b"value", 99).record

    placed = JUDGED | {"KafkaPartition": 1, "KafkaOffset": 7, "KafkaTimestamp": BY_BROKER}
    assert kept(placed).order == (round(1000 * BY_BROKER.timestamp()), 7, 1)
    assert kept(JUDGED).order == (99, -1, 1)


def test_an_anomaly_of_a_reading_that_was_corrected_before_is_no_event():
    rows = {
        text.encode(): JUDGED | {"KafkaPartition": 0, "KafkaOffset": offset, "KafkaTimestamp": BY_BROKER, "Value": offset}
        for text, offset in (("first", 7), ("correction", 8))
    }
    intake = Intake(Memory(10, 10, 10), Incidents(10), SimpleNamespace(decode=lambda value, record: rows[value]))
    assert intake.take(PLAIN, "anomaly", b"key", b"correction", 0)
    assert intake.take(PLAIN, "anomaly", b"key", b"first", 0) is None
