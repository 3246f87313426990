"""Who reads a topic: groups that are attached, groups that were, and the time of their last commit, from a real broker."""

import datetime as dt
import json
import uuid

import pytest
from confluent_kafka import Consumer, Producer

from contracts.declarations import Topic
from contracts.declared_topics import query_topics
from contracts.kafka_credentials import PLAIN
from contracts.queries import load_application
from stack.deploy import consumer_groups, topics
from stack.deploy.cluster import admin
from stack.deploy.commit_times import last_commits
from stack.errors import StackError


@pytest.fixture
def topic(broker) -> str:
    """One with three records."""
    name = f"old-{uuid.uuid4().hex[:8]}"
    topics.deploy(broker.kafka, [Topic(name, 2, 7)])
    producer = Producer({"bootstrap.servers": broker.kafka})
    for number in range(3):
        producer.produce(name, str(number), partition=number % 2)
    assert producer.flush(30) == 0
    return name


def consumer(broker, group: str, topic: str) -> Consumer:
    options = {"group.id": group, "client.id": "billing", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    made = Consumer({"bootstrap.servers": broker.kafka, **options})
    made.subscribe([topic])
    return made


def read(reader: Consumer, count: int) -> None:
    got = 0
    while got < count:
        got += len(reader.consume(count - got, timeout=30))


def test_a_topic_that_nobody_has_read_says_so(broker, topic):
    found = consumer_groups.report(broker.kafka, PLAIN, topic)
    assert (found["records"], found["groups"], found["unread_since"]) == (3, [], None)
    assert found["offsets_kept_hours"] == 168
    assert list(consumer_groups.lines(found))[1].startswith(
        "No group is known to have read it. (Kafka forgets a group 168 h after"
    )


@pytest.mark.full
def test_a_group_is_told_while_it_is_attached_and_after_it_has_left(broker, topic):
    group = f"group-{uuid.uuid4().hex[:8]}"
    reader = consumer(broker, group, topic)
    try:
        read(reader, 2)
        before = dt.datetime.now(dt.UTC).replace(microsecond=0)  # Kafka notes milliseconds
        reader.commit(asynchronous=False)
        (group_row,) = consumer_groups.report(broker.kafka, PLAIN, topic)["groups"]
        assert (group_row["group"], group_row["members"], group_row["lag"]) == (group, ["billing@127.0.0.1"], 1)
        assert before <= dt.datetime.fromisoformat(group_row["last_commit"]) <= dt.datetime.now(dt.UTC)
        found = consumer_groups.report(broker.kafka, PLAIN, topic)
        assert found["unread_since"] is None
        assert "Groups are attached to it: it is in use." in consumer_groups.lines(found)
    finally:
        reader.close()
    found = consumer_groups.report(broker.kafka, PLAIN, topic)
    (left,) = found["groups"]
    assert left == group_row | {"members": []}
    assert found["unread_since"] == group_row["last_commit"]
    assert f"No group has read it since {group_row['last_commit']}. (Kafka forgets" in "\n".join(consumer_groups.lines(found))
    assert json.loads(json.dumps(found)) == found


@pytest.mark.full
def test_commits_of_other_topics_are_not_this_ones(broker, topic):
    other = f"other-{uuid.uuid4().hex[:8]}"
    topics.deploy(broker.kafka, [Topic(other, 1, 7)])
    reader = consumer(broker, f"group-{other}", topic)
    read(reader, 3)
    reader.commit(asynchronous=False)
    reader.close()
    assert consumer_groups.report(broker.kafka, PLAIN, other)["groups"] == []
    assert last_commits(broker.kafka, PLAIN, other) == {}
    assert list(last_commits(broker.kafka, PLAIN, topic)) == [f"group-{other}"]


@pytest.mark.full
def test_a_commit_that_kafka_has_forgotten_is_none(broker, topic):
    group = f"group-{uuid.uuid4().hex[:8]}"
    reader = consumer(broker, group, topic)
    read(reader, 3)
    reader.commit(asynchronous=False)
    reader.close()
    assert list(last_commits(broker.kafka, PLAIN, topic)) == [group]
    client = admin(broker.kafka)
    client.delete_consumer_groups([group])[group].result(timeout=30)
    assert last_commits(broker.kafka, PLAIN, topic) == {}


def test_a_topic_that_is_not_there_is_named(broker):
    with pytest.raises(StackError, match="no topic nowhere at 127"):
        consumer_groups.report(broker.kafka, PLAIN, "nowhere")


def test_the_declared_queries_that_read_it_are_told(broker):
    topics.deploy(broker.kafka, query_topics(load_application("migrations").values()))
    assert consumer_groups.report(broker.kafka, PLAIN, "meter-readings")["queries"] == ["meter-readings-v1"]
