"""Lag, rates and standstill: arithmetic, and what a real broker and a checkpoint say."""

import json

import pytest
from confluent_kafka import Producer
from hypothesis import given
from hypothesis import strategies as st

from jobs.streams import lag_and_rates
from jobs.streams.checkpoint import Checkpoint
from jobs.streams.lag_and_rates import STEADY, Backlog, BatchesBacklog, Behind
from tests.support.waiting import until


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=60))
def test_lag_seconds_is_never_less_than_the_oldest_record_has_waited(steps):
    """Second by second some records come and some are done, first come first done: the truth is then known record by record."""
    behind, arrivals, done = Behind(), [], 0
    for second, (coming, doing) in enumerate(steps):
        arrivals += [second] * coming
        done = min(done + doing, len(arrivals))
        told = behind.measured(float(second), len(arrivals), done, 0)
        assert told["lag_records"] == len(arrivals) - done
        waited = second - arrivals[done] if done < len(arrivals) else 0
        # Measured once a second, a record may have come just after the measurement before.
        assert waited <= told["lag_seconds"] <= waited + 1 + 1e-9


def test_a_lag_from_before_the_first_measurement_is_at_least_as_old_as_that():
    behind = Behind()
    assert behind.measured(100.0, 500, 0, 0)["lag_seconds"] == 0.0
    assert behind.measured(107.0, 500, 20, 0)["lag_seconds"] == 7.0


def test_rates_are_those_of_the_last_ten_seconds():
    behind = Behind()
    assert behind.measured(0.0, 0, 0, 0)["input_per_second"] is None
    for second in range(1, 31):
        told = behind.measured(float(second), 100 * min(second, 20), 100 * min(second, 20), second)
    assert (told["input_per_second"], told["dead_letters_per_second"], told["dead_letters"]) == (0.0, 1.0, 30)


@pytest.mark.parametrize("took", [0.0, 0.3, 2.0])
def test_a_stream_keeps_up_while_only_the_newest_records_are_on_their_way(took):
    """However long measuring takes: at 100/s some records are always between the topics, and lag_seconds is a whole period."""
    behind = Behind()
    kept = []
    for period in range(5):
        at = period * (1 + took)
        figures = behind.measured(at, came := int(100 * at), came - 2 if period else 0, 0)
        kept.append(behind.keeps_up)
    assert (figures["lag_records"], figures["lag_seconds"]) == (2, round(1 + took, 1))
    assert kept == [True] * 5


def test_a_stream_does_not_keep_up_while_records_of_the_measurement_before_wait():
    behind, kept = Behind(), []
    assert not behind.keeps_up, "nothing is known yet"
    for at, came, done in ((0, 5, 0), (1, 10, 4), (2, 15, 10), (3, 20, 14), (4, 20, 20), (60, 30, 20), (61, 40, 30)):
        behind.measured(float(at), came, done, 0)
        kept.append(behind.keeps_up)
    assert kept == [False, False, True, False, True, False, True]


def stalled(*measurements: tuple[float, int, int]) -> list[float]:
    behind = Behind()
    return [behind.measured(at, came, done, 0)["stalled_seconds"] for at, came, done in measurements]


def test_a_standstill_grows_while_records_wait_and_ends_with_the_next_one_done():
    assert stalled((0, 5, 5), (1, 9, 5), (2, 9, 5), (3, 12, 5), (4, 12, 6), (5, 12, 6)) == [0, 1, 2, 3, 0, 1]


def test_silence_without_records_is_no_standstill():
    assert stalled((0, 5, 5), (1, 5, 5), (60, 5, 5), (61, 5, 5)) == [0, 0, 0, 0]


def test_time_in_which_nothing_could_be_measured_is_no_standstill():
    assert stalled((0, 9, 5), (1, 9, 5), (120, 9, 5), (121, 9, 5)) == [0, 1, 1, 2]


def produce(broker, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.kafka, "enable.idempotence": True})
    for number in range(count):
        producer.produce(topic, b"value", str(number).encode())
    assert producer.flush(30) == 0


def alone() -> tuple[bool, int]:
    """No query hands over to another, and none has."""
    return False, 0


@pytest.mark.full
def test_the_backlog_of_a_query_is_counted_from_where_it_begins(live_platform, broker, feed):
    produce(broker, feed.topic, 10)
    produce(broker, feed.scored_topic, 4)  # of a query before
    begin = {0: 6, **dict.fromkeys(range(1, feed.partitions), 0)}
    backlog = Backlog(live_platform, feed, begin, alone)
    told = backlog.measure()
    assert (told["lag_records"], told["dead_letters"]) == (4, 0)
    produce(broker, feed.scored_topic, 2)
    produce(broker, feed.dead_letter_topic, 1)
    told = backlog.measure()
    assert (told["lag_records"], told["dead_letters"]) == (1, 1)


@pytest.mark.full
def test_dead_letters_of_another_writer_hide_no_lag_for_long(live_platform, broker, feed):
    backlog = Backlog(live_platform, feed, dict.fromkeys(range(feed.partitions), 0), alone)
    produce(broker, feed.dead_letter_topic, 3)  # archive's
    for _ in range(STEADY):
        assert backlog.measure()["dead_letters"] == 3
    produce(broker, feed.topic, 5)
    produce(broker, feed.dead_letter_topic, 1)
    told = backlog.measure()
    assert (told["lag_records"], told["dead_letters"]) == (4, 4)


@pytest.mark.full
def test_what_two_queries_have_scored_hides_no_lag_once_one_of_them_has_ended(live_platform, broker, feed):
    overlap = [(False, 0)]
    backlog = Backlog(live_platform, feed, dict.fromkeys(range(feed.partitions), 0), lambda: overlap[-1])
    produce(broker, feed.topic, 10)
    produce(broker, feed.scored_topic, 8)
    assert backlog.measure()["lag_records"] == 2
    overlap.append((True, 0))
    produce(broker, feed.scored_topic, 2 + 6)
    for _ in range(STEADY + 1):
        assert backlog.measure()["lag_records"] == 0
    overlap.append((False, 6))
    assert backlog.measure()["lag_records"] == 0
    produce(broker, feed.topic, 3)
    produce(broker, feed.dead_letter_topic, 1)
    found = backlog.measure()
    assert (found["lag_records"], found["dead_letters"]) == (2, 1)


@pytest.mark.full
def test_what_a_query_that_ends_late_scores_besides_hides_neither_lag_nor_dead_letters(live_platform, broker, feed):
    """It goes on in its next batch while the next query begins: that is not within the overlap that is known."""
    overlap = [(True, 0)]
    backlog = Backlog(live_platform, feed, dict.fromkeys(range(feed.partitions), 0), lambda: overlap[-1])
    produce(broker, feed.topic, 10)
    produce(broker, feed.dead_letter_topic, 2)
    produce(broker, feed.scored_topic, 8 + 6 + 4)  # 6 within the overlap, 4 after its end
    counts = [backlog.measure()["dead_letters"]]
    overlap.append((False, 6))
    counts += [backlog.measure()["dead_letters"] for _ in range(STEADY + 1)]
    produce(broker, feed.topic, 5)
    produce(broker, feed.dead_letter_topic, 1)
    found = backlog.measure()
    assert (counts, found["dead_letters"]) == ([2] * len(counts), 3), "it never falls"
    assert found["lag_records"] == 4


def in_transaction(broker, topic: str, count: int, commit: bool) -> None:
    producer = Producer({"bootstrap.servers": broker.kafka, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    for number in range(count):
        producer.produce(topic, b"value", str(number).encode(), partition=0)
    producer.flush(30)
    producer.commit_transaction(30) if commit else producer.abort_transaction(30)


@pytest.mark.full
def test_ends_of_transactions_and_what_they_aborted_are_no_lag(live_platform, broker, feed, monkeypatch):
    backlog = Backlog(live_platform, feed, dict.fromkeys(range(feed.partitions), 0), alone)
    in_transaction(broker, feed.topic, 3, commit=True)
    in_transaction(broker, feed.topic, 2, commit=False)
    produce(broker, feed.scored_topic, 3)
    until("two ends, and two aborted records, until somebody looks", lambda: backlog.measure()["lag_records"] == 4)
    monkeypatch.setattr(lag_and_rates, "COUNT_AFTER", 0.0)
    for most in (1, 2, 200_000):
        monkeypatch.setattr(lag_and_rates, "MOST", most)
        found = backlog.measure()
    assert (found["lag_records"], found["lag_seconds"], found["stalled_seconds"]) == (0, 0.0, 0.0)
    in_transaction(broker, feed.topic, 5, commit=True)
    until("these wait, and the end is none of them", lambda: backlog.measure()["lag_records"] == 5)
    produce(broker, feed.scored_topic, 4)
    assert backlog.measure()["lag_records"] == 1


@pytest.mark.full
def test_nothing_is_counted_while_a_query_catches_up(live_platform, broker, feed, monkeypatch):
    monkeypatch.setattr(lag_and_rates, "COUNT_AFTER", 0.0)
    counted = []
    monkeypatch.setattr(
        lag_and_rates.kafka, "count", lambda *_: counted.append(1) or sum(each.end - each.start for each in _[2].values())
    )
    produce(broker, feed.topic, 100)
    backlog = Backlog(live_platform, feed, dict.fromkeys(range(feed.partitions), 0), alone)
    assert (backlog.measure()["lag_records"], len(counted)) == (100, 1), "nothing has gone on yet"
    for left in (80, 60, 40):
        produce(broker, feed.scored_topic, 20)
        assert (backlog.measure()["lag_records"], len(counted)) == (left, 1)
    produce(broker, feed.scored_topic, 1)
    assert (backlog.measure()["lag_records"], len(counted)) == (39, 2)


def test_what_seemed_to_have_come_and_was_no_record_makes_no_later_lag_older():
    behind = Behind()
    for second, came in enumerate((5, 9, 9, 9)):
        behind.measured(float(second), came, 5, 0)
    assert behind.measured(4.0, 5, 5, 0)["lag_records"] == 0
    assert behind.measured(5.0, 6, 5, 0)["lag_seconds"] == 1.0


def test_the_backlog_of_a_query_in_batches_is_of_its_own_topics(tmp_path):
    backlog = BatchesBacklog({"rides", "payments"}, Checkpoint(tmp_path))
    ends = {"rides": {0: 100, 1: 20}, "payments": {0: 30}, "zones": {0: 1000}}
    assert backlog.measure(ends) == {}, "nobody knows yet where the query begins"
    for number, (topic, offset) in enumerate({"rides": 100, "payments": 30}.items()):
        (tmp_path / "sources" / str(number)).mkdir(parents=True)
        (tmp_path / "sources" / str(number) / "0").write_bytes(b"\0v1\n" + json.dumps({topic: {"0": offset}}).encode())
    assert backlog.measure(ends)["lag_records"] == 20
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text('v1\n{}\n{"rides":{"0":115}}\n{"payments":{"0":30}}\n')
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "0").touch()
    assert backlog.measure(ends)["lag_records"] == 5
