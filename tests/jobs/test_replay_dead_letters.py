"""Dead letters of a real broker go back once, when they can be read."""

import datetime as dt

import pytest
from confluent_kafka import Producer

from contracts.feeds import Feed
from contracts.queries import Query
from jobs import archive, replay_dead_letters
from jobs.backends import tables
from jobs.errors import JobError
from tests.jobs.readings import NOON, encoded, kept, produce
from tests.support.topics import consume

FRIDAY = dt.date(2026, 11, 20)


def letters(broker, feed: Feed, *records: tuple[bytes | None, bytes, str, int]) -> None:
    """Dead letters (key, bytes, reason, origin's offset) as archive and streams leave them."""
    producer = Producer({"bootstrap.servers": broker.kafka, "enable.idempotence": True})
    for key, payload, reason, offset in records:
        said = {"reason": reason.encode(), "topic": feed.topic.encode(), "partition": b"0", "offset": b"%d" % offset, "key": key}
        producer.produce(feed.dead_letter_topic, payload, b"%s-0-%d" % (feed.topic.encode(), offset), headers=said)
    assert producer.flush(30) == 0


def replayed(broker, feed: Feed) -> list[tuple]:
    """What the feed's topic holds that was replayed: (key, value, origin)."""
    sent_again = (message for message in consume(broker.kafka, feed.topic) if message.headers())
    return sorted((each.key(), each.value(), dict(each.headers())["replayed-from"]) for each in sent_again)


@pytest.fixture(autouse=True)
def declared(feed, monkeypatch):
    monkeypatch.setattr(replay_dead_letters, "load_feeds", lambda: {feed.name: feed})


@pytest.fixture
def reading(broker, feed) -> bytes:
    return encoded(broker, feed, NOON, 7)


@pytest.mark.full
def test_what_can_be_read_now_goes_back_once_and_the_rest_stays(spark, run_job, live_platform, broker, feed, reading, capsys):
    unknown = "unknown schema id 1"
    letters(broker, feed, (b"www", reading, unknown, 5), (b"www", b"garbage", "first byte", 6), (b"www", reading, unknown, 5))
    options = ["--run-id", "run-1", "--topic", feed.topic]
    run_job(replay_dead_letters, live_platform, *options)
    told = capsys.readouterr().out
    assert "2 letters that were not replayed yet" in told, "archive and stream both left the one of offset 5"
    assert "1  can be read now" in told
    assert "1  first byte is not the Confluent magic byte 0" in told
    assert replayed(broker, feed) == []
    run_job(replay_dead_letters, live_platform, *options, "--send")
    assert "1 records sent again" in capsys.readouterr().out
    run_job(replay_dead_letters, live_platform, "--run-id", "run-2", "--topic", feed.topic, "--send")
    told = capsys.readouterr().out
    assert "1 letters that were not replayed yet" in told
    assert "0 records sent again" in told
    assert replayed(broker, feed) == [(b"www", reading, f"{feed.topic}-0-5".encode())]
    run_job(archive, live_platform, "--run-id", "run-3", "--feed", feed.name)
    assert kept(spark, live_platform, feed) == [("www", NOON, 7, FRIDAY)]


@pytest.mark.full
def test_a_letter_of_a_topic_that_was_made_anew_is_another_one_than_that_of_the_same_place(
    run_job, live_platform, broker, feed, reading, capsys
):
    """A letter that an earlier release has sent is known by its place alone."""
    later = encoded(broker, feed, NOON + dt.timedelta(minutes=1), 8)
    options = ["--run-id", "run-1", "--topic", feed.topic, "--send"]
    now = dt.datetime.now(dt.UTC)
    place = {"Topic": feed.topic, "KafkaPartition": 0, "KafkaOffset": 4, "RunId": "run-0", "ReplayedAt": now}
    tables.dead_letter_replays(live_platform).add([place], {})
    letters(broker, feed, (b"www", reading, "unknown schema id 1", 4), (b"www", reading, "unknown schema id 1", 5))
    run_job(replay_dead_letters, live_platform, *options)
    assert "1 records sent again" in capsys.readouterr().out
    letters(broker, feed, (b"www", later, "unknown schema id 1", 5))
    for sent in (1, 0):
        run_job(replay_dead_letters, live_platform, *options)
        assert f"{sent} records sent again" in capsys.readouterr().out
    origin = f"{feed.topic}-0-5".encode()
    assert replayed(broker, feed) == sorted([(b"www", reading, origin), (b"www", later, origin)])


@pytest.mark.full
def test_a_replay_can_be_narrowed_by_reason_and_by_date(run_job, live_platform, broker, feed, reading, capsys):
    letters(broker, feed, (b"www", reading, "unknown schema id 1", 5), (b"login", reading, "unknown schema id 2", 6))
    options = ["--run-id", "run-1", "--topic", feed.topic, "--send"]
    tomorrow = dt.datetime.now(feed.zone).date() + dt.timedelta(days=1)
    run_job(replay_dead_letters, live_platform, *options, "--since", str(tomorrow))
    assert capsys.readouterr().out == f"{feed.dead_letter_topic}: no dead letters\n"
    today = tomorrow - dt.timedelta(days=1)
    run_job(replay_dead_letters, live_platform, *options, "--since", str(today), "--reason", "schema id 2")
    assert [key for key, _, _ in replayed(broker, feed)] == [b"login"]


@pytest.mark.full
def test_a_letter_of_a_topic_that_was_this_feeds_before_is_not_sent(run_job, live_platform, broker, feed, reading):
    other = feed.model_copy(update={"name": "someone-else"})
    producer = Producer({"bootstrap.servers": broker.kafka, "enable.idempotence": True})
    said = [("reason", b"x"), ("topic", other.topic.encode()), ("partition", b"0"), ("offset", b"1"), ("key", b"www")]
    producer.produce(feed.dead_letter_topic, reading, b"k", headers=said)
    assert producer.flush(30) == 0
    run_job(replay_dead_letters, live_platform, "--run-id", "run-1", "--topic", feed.topic, "--send")
    assert replayed(broker, feed) == []
    assert tables.dead_letter_replays(live_platform).version() == -1


@pytest.mark.full
def test_a_record_that_is_too_large_for_its_letter_is_read_from_its_topic_again(
    run_job, live_platform, broker, feed, monkeypatch, capsys
):
    """Its name was too long, until the feed allowed it."""
    name = b"w" * 1_000_100
    produce(broker, feed, (name.decode(), NOON, 7), ("www", NOON, 8))
    (long,) = [each for each in consume(broker.kafka, feed.topic) if each.key() == name]
    run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name)
    (letter,) = consume(broker.kafka, feed.dead_letter_topic)
    assert dict(letter.headers())["offset"] == b"%d" % long.offset()
    assert dict(letter.headers())["key"] == name[:1000]
    options = ["--run-id", "run-2", "--topic", feed.topic, "--send"]
    run_job(replay_dead_letters, live_platform, *options)
    assert "1  service name of 1000100 bytes; the feed's longest_service is 256" in capsys.readouterr().out
    longer = feed.model_copy(update={"longest_service": 2_000_000})
    monkeypatch.setattr(replay_dead_letters, "load_feeds", lambda: {feed.name: longer})
    run_job(replay_dead_letters, live_platform, *options)
    assert "1 records sent again" in capsys.readouterr().out
    assert replayed(broker, feed) == [(name, long.value(), f"{feed.topic}-{long.partition()}-{long.offset()}".encode())]


@pytest.mark.full
def test_a_large_record_that_its_topic_lost_is_not_sent(run_job, live_platform, broker, feed, capsys):
    produce(broker, feed, ("www", NOON, 8))
    (other,) = consume(broker.kafka, feed.topic)
    hashes = {"key-bytes": b"3", "key-sha256": b"0" * 64, "value-bytes": b"2000000", "value-sha256": b"1" * 64}
    producer = Producer({"bootstrap.servers": broker.kafka, "enable.idempotence": True})
    for offset in (other.offset(), 1_000):
        place = {"topic": feed.topic.encode(), "partition": b"%d" % other.partition(), "offset": b"%d" % offset, "key": b"www"}
        producer.produce(feed.dead_letter_topic, b"v", b"%d" % offset, headers={"reason": b"x"} | place | hashes)
    assert producer.flush(30) == 0
    run_job(replay_dead_letters, live_platform, "--run-id", "run-1", "--topic", feed.topic, "--send")
    said = capsys.readouterr().out
    assert f"{feed.topic}: 2 records are gone whose letters have only their beginning" in said
    assert replayed(broker, feed) == []


@pytest.mark.full
def test_a_letter_does_not_replace_what_has_come_since(run_job, live_platform, broker, feed, capsys):
    """Of two readings there is a newer record: it waits for the archive, or is archived, or is a letter itself."""
    second, third = NOON + dt.timedelta(seconds=10), NOON + dt.timedelta(seconds=20)
    produce(broker, feed, ("ab", NOON, 1), ("ab", third, 2), ("ab", NOON, 3))  # a name whose partition is 0
    sent = [(0, third), (1, NOON), (2, second), (3, NOON), (4, second)]
    values = {offset: encoded(broker, feed, at, 90 + offset) for offset, at in sent}
    letters(broker, feed, *((b"ab", value, "unknown schema id 1", offset) for offset, value in values.items()))
    options = ["--run-id", "run-1", "--topic", feed.topic]
    for _ in range(2):
        run_job(replay_dead_letters, live_platform, *options)
        told = capsys.readouterr().out
        assert "3  a newer record of the same reading has come since" in told
        assert "2  can be read now" in told
        run_job(archive, live_platform, "--run-id", "run-1", "--feed", feed.name)
    run_job(replay_dead_letters, live_platform, *options, "--send")
    again = [(b"ab", values[offset], f"{feed.topic}-0-{offset}".encode()) for offset in (3, 4)]
    assert sorted(replayed(broker, feed)) == sorted(again)


@pytest.mark.full
def test_a_letter_does_not_replace_a_newer_row_of_a_table(run_job, live_platform, broker, feed, monkeypatch, capsys):
    table = {"topic": feed.topic, "record": feed.record, "key": {"column": "Service"}, "as": "table"}
    out = {"topic": "out", "record": feed.record, "key": "Service"}
    made = Query(name="q", description="q", inputs={"a": table}, sql="SELECT * FROM a", outputs=[out], mode="update")
    monkeypatch.setattr(replay_dead_letters, "load_queries", lambda: {"q": made})
    monkeypatch.setattr(replay_dead_letters, "load_feeds", dict)
    produce(broker, feed, ("ab", NOON, 1), ("ab", NOON, 2))
    old, new, other = (encoded(broker, feed, NOON, value) for value in (7, 8, 9))
    letters(broker, feed, (b"ab", old, "x", 0), (b"ab", new, "x", 2), (b"cd", other, "x", 3))
    run_job(replay_dead_letters, live_platform, "--run-id", "run-1", "--topic", feed.topic, "--send")
    assert "1  a newer record of the same key has come since" in capsys.readouterr().out
    assert [value for _, value, _ in replayed(broker, feed)] == [new, other]


def test_without_dead_letters_there_is_nothing_to_do(run_job, live_platform, broker, feed, capsys):
    produce(broker, feed, ("www", NOON, 7))
    run_job(replay_dead_letters, live_platform, "--run-id", "run-1", "--topic", feed.topic, "--send")
    assert capsys.readouterr().out == f"{feed.dead_letter_topic}: no dead letters\n"


@pytest.mark.full
def test_a_letter_of_a_queries_topic_is_judged_as_the_queries_judge_it(run_job, live_platform, broker, feed, monkeypatch, capsys):
    """The topic of a feed and of two queries, one of which has become less strict."""
    base = {"topic": feed.topic, "record": feed.record, "key": {"column": "Service"}}
    out = {"topic": "out", "record": feed.record, "key": "Service"}

    def declared(**conditions: str) -> None:
        made = {
            name: Query(name=name, description="q", inputs={"a": base | {"valid": valid}}, sql="SELECT * FROM a", outputs=[out])
            for name, valid in conditions.items()
        }
        monkeypatch.setattr(replay_dead_letters, "load_queries", lambda: made)

    monkeypatch.setattr(replay_dead_letters, "load_feeds", dict)
    few, many = (encoded(broker, feed, NOON, value) for value in (7, 70))
    letters(broker, feed, (b"www", few, "not valid: x", 1), (b"www", many, "not valid: x", 2))
    options = ["--run-id", "run-1", "--topic", feed.topic, "--send"]
    declared(strict="Value < 5", lax="Value < 100")
    run_job(replay_dead_letters, live_platform, *options)
    assert "2  not valid: Value < 5" in capsys.readouterr().out
    declared(strict="Value < 50", lax="Value < 100")
    run_job(replay_dead_letters, live_platform, *options)
    assert "1 records sent again" in capsys.readouterr().out
    assert replayed(broker, feed) == [(b"www", few, f"{feed.topic}-0-1".encode())]


def test_a_topic_that_nobody_reads_is_named(run_job, live_platform, broker, feed):
    with pytest.raises(JobError, match=r"--topic nobody: no feed and no query reads it"):
        run_job(replay_dead_letters, live_platform, "--run-id", "r", "--topic", "nobody")
