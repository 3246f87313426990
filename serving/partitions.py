"""Partitions as the brokers know them: those that there are, and where a time begins in them."""

import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import wait

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

Place = tuple[str, int]  # topic and partition
NOT_DEPLOYED = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_AUTHORIZATION_FAILED)  # as of a feed declared just now
_awaited: list[tuple[float, AdminClient]] = []  # clients that are still to be answered, each with when it has been


def described(admin: AdminClient, topics: Iterable[str], stop: threading.Event, seconds: float) -> dict[Place, str] | None:
    """The partitions that these topics have, each with its topic's id: a topic that is deleted and created again has another one.
    None if `stop` is set before the brokers answer. Raises KafkaException if they do not answer within so many seconds."""
    asked = admin.describe_topics(TopicCollection(list(topics)), request_timeout=seconds)
    while wait(asked.values(), timeout=0.2).not_done:
        if stop.is_set():
            _keep(admin, seconds)
            return None
    found = {}
    for topic, answer in asked.items():
        try:
            topic_found = answer.result()
        except KafkaException as error:
            if error.args[0].code() not in NOT_DEPLOYED:
                raise
            continue
        found |= {(topic, partition.id): str(topic_found.topic_id) for partition in topic_found.partitions}
    return found


def _keep(admin: AdminClient, seconds: float) -> None:
    """Hold the client until its answer has come, so many seconds later at most. The answer comes in a thread of the client, and
    Python's collector may run there. If it frees the client in this thread, librdkafka aborts the process."""
    now = time.monotonic()
    _awaited[:] = [each for each in _awaited if each[0] > now]
    _awaited.append((now + seconds + 1, admin))


def offsets_before_end(consumer: Consumer, places: Iterable[Place], records: int) -> dict[Place, int]:
    """Of each partition the offset so many before its end; its first where it has fewer. Raises KafkaException."""
    marks = {place: consumer.get_watermark_offsets(TopicPartition(*place), timeout=10) for place in places}
    return {place: max(first, end - records) for place, (first, end) in marks.items()}


def offsets_at(consumer: Consumer, times: Mapping[Place, int]) -> dict[Place, int]:
    """Of each partition the first offset that the broker took at that time (epoch ms) or later; its end where there is none.

    The ends are asked for first, so that nothing written between the two questions is left out. Raises KafkaException.
    """
    ends = {place: consumer.get_watermark_offsets(TopicPartition(*place), timeout=10)[1] for place in times}
    found = {}
    for each in consumer.offsets_for_times([TopicPartition(*place, at) for place, at in times.items()], timeout=10):
        if each.error is not None:
            raise KafkaException(each.error)
        place = each.topic, each.partition
        found[place] = each.offset if each.offset >= 0 else ends[place]
    return found
