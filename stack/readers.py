"""Who reads a topic, as far as Kafka knows: consumer groups that hold offsets of it or are attached to it, and when each last
committed. When a topic with an old version may go, is told by this.

Kafka answers what a group has committed, but not when; that is read from the topic in which it keeps the commits.
"""

import datetime as dt
import struct
import time
from collections.abc import Iterator

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_INVALID,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType

from contracts.kafka_access import KafkaAccess
from contracts.topics import queries_reading
from stack.errors import StackError
from stack.kafka import admin

COMMITS = "__consumer_offsets"
WAIT = 30.0
UNSEEN = "readers without a group (Spark's streams, `kcat`, assigned partitions) commit nothing, so Kafka can't tell of them"


def report(bootstrap: str, access: KafkaAccess, topic: str) -> dict:
    """As JSON. `unread_since`: the last commit of any group, if none is attached; null: somebody is, or no commit is known."""
    client = admin(bootstrap, access)
    known = client.list_topics(timeout=WAIT).topics
    if topic not in known:
        raise StackError(f"no topic {topic} at {bootstrap}", remedy="`sundial topics` names the declared ones")
    ends = _ends(client, [TopicPartition(topic, number) for number in known[topic].partitions])
    groups = list(_groups(client, topic, ends, last_commits(bootstrap, access, topic)))
    attached = any(group["members"] for group in groups)
    last = max((group["last_commit"] for group in groups if group["last_commit"]), default=None)
    return {
        "topic": topic,
        "at": _instant(dt.datetime.now(dt.UTC)),
        "records": sum(ends.values()),
        "groups": groups,
        "queries": queries_reading(topic),
        "unread_since": None if attached else last,
        "offsets_kept_hours": _offsets_kept_hours(client),
    }


def told(report: dict) -> Iterator[str]:
    """The same in words."""
    yield f"{report['topic']}: {report['records']:,} records written so far"
    for group in report["groups"]:
        who = ", ".join(group["members"]) or "nobody attached"
        yield f"group {group['group']}: {who}; {group['lag']:,} records wait; last commit {group['last_commit'] or 'not known'}"
    for query in report["queries"]:
        yield f"query {query}: declared to read it; whether it runs: sundial status"
    yield _verdict(report)
    yield f"Beware: {UNSEEN}."


def _verdict(report: dict) -> str:
    kept = f"Kafka forgets a group {report['offsets_kept_hours']:g} h after its last member has left"
    if any(group["members"] for group in report["groups"]):
        return "Groups are attached to it: it is in use."
    if report["unread_since"]:
        return f"No group has read it since {report['unread_since']}. ({kept}.)"
    return f"No group is known to have read it. ({kept}.)"


def _groups(client: AdminClient, topic: str, ends: dict[int, int], commits: dict[str, dt.datetime]) -> Iterator[dict]:
    names = sorted(group.group_id for group in client.list_consumer_groups(request_timeout=WAIT).result().valid)
    described = client.describe_consumer_groups(names, request_timeout=WAIT) if names else {}
    for name in names:
        found = described[name].result()
        members = [
            f"{member.client_id}@{member.host.lstrip('/')}"
            for member in found.members
            if topic in {each.topic for each in member.assignment.topic_partitions}
        ]
        offsets = _committed(client, name, topic)
        if members or offsets:
            waiting = sum(max(end - max(offsets.get(partition, 0), 0), 0) for partition, end in ends.items())
            at = commits.get(name)
            yield {"group": name, "members": members, "lag": waiting, "last_commit": at and _instant(at)}


def _committed(client: AdminClient, group: str, topic: str) -> dict[int, int]:
    """By partition, the offset up to which a group has read."""
    asked = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=WAIT)
    found = asked[group].result().topic_partitions
    return {each.partition: each.offset for each in found if each.topic == topic and each.offset != OFFSET_INVALID}


def _ends(client: AdminClient, partitions: list[TopicPartition]) -> dict[int, int]:
    asked = client.list_offsets({partition: OffsetSpec.latest() for partition in partitions}, request_timeout=WAIT)
    return {partition.partition: found.result().offset for partition, found in asked.items()}


def _offsets_kept_hours(client: AdminClient) -> float:
    broker = str(next(iter(client.list_topics(timeout=WAIT).brokers)))
    (asked,) = client.describe_configs([ConfigResource(ResourceType.BROKER, broker)], request_timeout=WAIT).values()
    return int(asked.result()["offsets.retention.minutes"].value) / 60


def last_commits(bootstrap: str, access: KafkaAccess, topic: str) -> dict[str, dt.datetime]:
    """When each group last committed an offset of a topic that Kafka still keeps. Raises StackError if that is hidden."""
    found: dict[tuple[str, int], dt.datetime] = {}
    for message in _everything(bootstrap, access):
        commit = _commit(message.key())
        if not commit or commit[1] != topic:
            continue
        group, _, partition = commit
        if message.value() is None:  # forgotten
            found.pop((group, partition), None)
        else:
            found[group, partition] = dt.datetime.fromtimestamp(message.timestamp()[1] / 1000, dt.UTC)
    return {group: max(at for (name, _), at in found.items() if name == group) for group, _ in found}


def _everything(bootstrap: str, access: KafkaAccess) -> Iterator[Message]:
    """All records that the topic of commits holds now; none where no group has ever committed, as it does not exist yet."""
    options = {
        "group.id": "sundial-readers",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "fetch.queue.backoff.ms": 5,
    }
    consumer = Consumer(access.client_options(bootstrap) | options)
    try:
        there = consumer.list_topics(COMMITS, timeout=WAIT).topics[COMMITS]
        _refuse_hidden(there.error)
        unfinished = set(there.partitions)
        consumer.assign([TopicPartition(COMMITS, number, OFFSET_BEGINNING) for number in unfinished])
        heard = time.monotonic()
        while unfinished:
            messages = consumer.consume(10_000, timeout=0.2)
            heard = time.monotonic() if messages else heard
            if time.monotonic() - heard > WAIT:
                raise StackError(f"{COMMITS} at {bootstrap} does not go on after {WAIT:.0f} s")
            for message in messages:
                if not message.error():
                    yield message
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    unfinished.discard(message.partition())
                else:
                    _refuse_hidden(message.error())
                    raise KafkaException(message.error())
    finally:
        consumer.close()


def _refuse_hidden(error: KafkaError | None) -> None:
    if error and error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
        raise StackError(f"when groups have committed stands in {COMMITS}", remedy="ask as a user who may read that topic")


def _commit(key: bytes | None) -> tuple[str, str, int] | None:
    """Group, topic and partition of a record that keeps an offset; None of the others (groups' members, transactions' ends).

    Kafka's OffsetCommitKey, versions 0 and 1: int16 version, string group, string topic, int32 partition; a string is its length
    as int16 and its bytes.
    """
    if not key or struct.unpack_from(">h", key)[0] not in (0, 1):
        return None
    texts, at = [], 2
    for _ in range(2):
        (length,) = struct.unpack_from(">h", key, at)
        texts.append(key[at + 2 : at + 2 + length].decode())
        at += 2 + length
    return texts[0], texts[1], struct.unpack_from(">i", key, at)[0]


def _instant(at: dt.datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
