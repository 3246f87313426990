"""Who reads a topic, as far as Kafka knows: the consumer groups that have members on it or keep offsets of it, and when each last
committed. It says when a topic with an old version may go.
"""

import datetime as dt
import time
from collections.abc import Iterator

from confluent_kafka import OFFSET_INVALID, ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType

from contracts.declared_topics import queries_reading
from contracts.kafka_credentials import KafkaCredentials
from stack.deploy.cluster import admin
from stack.deploy.commit_times import last_commits
from stack.errors import StackError

WAIT = 30.0
LEADERLESS = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)  # for a moment, as of a new topic
UNSEEN = "readers without a group (Spark's streams, `kcat`, assigned partitions) commit nothing, so Kafka does not know them"


def report(bootstrap: str, credentials: KafkaCredentials, topic: str) -> dict:
    """As JSON. `unread_since`: the last commit of any group, if none has members; null: one has, or no commit is known."""
    client = admin(bootstrap, credentials)
    known = client.list_topics(timeout=WAIT).topics
    if topic not in known:
        raise StackError(f"no topic {topic} at {bootstrap}", remedy="`sundial topics` names the declared ones")
    ends = _ends(client, [TopicPartition(topic, number) for number in known[topic].partitions])
    groups = list(_groups(client, topic, ends, last_commits(bootstrap, credentials, topic)))
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


def lines(report: dict) -> Iterator[str]:
    """The report in words."""
    yield f"{report['topic']}: {report['records']:,} records written so far"
    for group in report["groups"]:
        who = ", ".join(group["members"]) or "no members"
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
    answers = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=WAIT)
    found = answers[group].result().topic_partitions
    return {each.partition: each.offset for each in found if each.topic == topic and each.offset != OFFSET_INVALID}


def _ends(client: AdminClient, partitions: list[TopicPartition]) -> dict[int, int]:
    given_up = time.monotonic() + WAIT
    while True:
        answers = client.list_offsets({partition: OffsetSpec.latest() for partition in partitions}, request_timeout=WAIT)
        try:
            return {partition.partition: answer.result().offset for partition, answer in answers.items()}
        except KafkaException as error:
            if error.args[0].code() not in LEADERLESS or time.monotonic() >= given_up:
                raise
            time.sleep(0.2)


def _offsets_kept_hours(client: AdminClient) -> float:
    broker = str(next(iter(client.list_topics(timeout=WAIT).brokers)))
    (answer,) = client.describe_configs([ConfigResource(ResourceType.BROKER, broker)], request_timeout=WAIT).values()
    return int(answer.result()["offsets.retention.minutes"].value) / 60


def _instant(at: dt.datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
