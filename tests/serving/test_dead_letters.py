"""The newest dead letters of a feed, read from a real broker, and what the API says of them."""

import itertools

import httpx
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from serving import dead_letters
from serving.dead_letters import DeadLetters
from serving.problems import ProblemError
from tests.serving.conftest import served
from tests.support.waiting import until

AS_SAID = {"message.timestamp.type": "CreateTime", "retention.ms": "-1"}


@pytest.fixture
def send(broker, feed, monkeypatch):
    """send(partition, value, headers): one dead letter more. Answers are not kept for a time."""
    monkeypatch.setattr(dead_letters, "FRESH", 0.0)
    clock = itertools.count()
    admin, producer = (
        AdminClient({"bootstrap.servers": broker.kafka}),
        Producer({"bootstrap.servers": broker.kafka, "enable.idempotence": True}),
    )
    admin.create_topics([NewTopic(feed.dead_letter_topic, 2, 1, config=AS_SAID)])[feed.dead_letter_topic].result(20)

    def sent(partition: int, value: bytes | None, *headers: tuple[str, bytes | None]) -> None:
        at = 1_000_000_000_000 + next(clock)  # two letters of one millisecond have no order
        producer.produce(feed.dead_letter_topic, value, b"key", partition=partition, headers=list(headers), timestamp=at)
        assert producer.flush(20) == 0

    yield sent
    admin.delete_topics([feed.dead_letter_topic])[feed.dead_letter_topic].result(20)


def reasons(found: list[dead_letters.DeadLetter]) -> list[str]:
    return [each.reason for each in found]


def test_the_newest_come_first_with_place_key_and_first_bytes(send, online, feed):
    with served(online) as (url, _):
        address = f"{url}/api/feeds/{feed.name}/dead-letters"
        assert httpx.get(address).json() == []
        send(0, bytes(range(256)) + b"more", ("reason", b"first"), ("partition", b"1"), ("offset", b"42"), ("key", b"w\xffw"))
        send(1, b"x", ("reason", b"second"), ("value-bytes", b"1048400"), ("key", None))
        newest, oldest = httpx.get(address).json()
        assert httpx.get(f"{address}?limit=1").json() == [newest]
        assert httpx.get(f"{address}?limit=101").status_code == 422
        lines = httpx.get(address, headers={"Accept": "text/csv"}).text.splitlines()
    assert {name: oldest[name] for name in ("feed", "reason", "partition", "offset", "key", "size")} == {
        **{"feed": feed.name, "reason": "first", "partition": 1, "offset": 42},
        **{"key": "w\N{REPLACEMENT CHARACTER}w", "size": 260},
    }
    assert bytes.fromhex(oldest["begins"]) == bytes(range(256))
    assert [newest[name] for name in ("reason", "partition", "offset", "key", "size", "begins")] == [
        *("second", None, None, None),
        *(1_048_400, "78"),
    ]
    assert len(lines) == 3


def test_only_the_newest_are_read_and_what_comes_later_is_seen(send, broker, feed, monkeypatch):
    monkeypatch.setattr(dead_letters, "MOST", 3)
    letters = DeadLetters({"bootstrap.servers": broker.kafka})
    for number in range(5):
        send(number % 2, b"", ("reason", str(number).encode()))
    assert reasons(letters.newest(feed.dead_letter_topic)) == ["4", "3", "2"]
    send(1, None)
    assert reasons(letters.newest(feed.dead_letter_topic)) == ["", "4", "3"]
    assert letters.newest(feed.dead_letter_topic)[0].begins == b""


def test_an_answer_is_given_again_for_a_time(send, broker, feed, monkeypatch):
    letters = DeadLetters({"bootstrap.servers": broker.kafka})
    send(0, b"", ("reason", b"a"))
    assert reasons(letters.newest(feed.dead_letter_topic)) == ["a"]
    send(0, b"", ("reason", b"b"))
    monkeypatch.setattr(dead_letters, "FRESH", 1e9)
    assert reasons(letters.newest(feed.dead_letter_topic)) == ["a"]
    monkeypatch.setattr(dead_letters, "FRESH", 0.0)
    until("the newer one is seen", lambda: reasons(letters.newest(feed.dead_letter_topic)) == ["b", "a"])


def test_a_topic_that_does_not_exist_has_none_and_a_silent_broker_is_a_problem(broker, offline, feed, monkeypatch):
    monkeypatch.setattr(dead_letters, "PATIENCE", 1.0)
    assert DeadLetters({"bootstrap.servers": broker.kafka}).newest(feed.dead_letter_topic) == []
    with pytest.raises(ProblemError, match=f"{feed.dead_letter_topic} cannot be read"):
        DeadLetters({"bootstrap.servers": offline.kafka}).newest(feed.dead_letter_topic)
