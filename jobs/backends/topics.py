"""Topics as the broker has them now: their ids, which tell a topic that was made anew, and what they hold."""

from dataclasses import dataclass

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from jobs.backends import kafka
from jobs.backends.settings import Platform
from jobs.errors import JobError


@dataclass(frozen=True)
class Topic:
    """A topic as it is now. id: another one after the topic was deleted and made anew. ranges: the offsets that it holds, by
    partition."""

    name: str
    id: str
    ranges: dict[int, kafka.Range]

    @property
    def firsts(self) -> dict[int, int]:
        """The first offset that each partition holds."""
        return {partition: each.start for partition, each in self.ranges.items()}

    @property
    def ends(self) -> dict[int, int]:
        """The offset that each partition's next record gets."""
        return {partition: each.end for partition, each in self.ranges.items()}


def topic_now(platform: Platform, name: str) -> Topic:
    """Raises JobError where the topic or the broker is missing."""
    ranges = kafka.available(platform, name)  # first: of a topic that is missing it says what to do
    return Topic(name, Topics(platform, [name]).described()[name].id, ranges)


@dataclass(frozen=True)
class Described:
    """A topic's id, as in Topic, and how many partitions it has."""

    id: str
    partitions: int


class Topics:
    """Some topics, asked for now and then."""

    def __init__(self, platform: Platform, names: list[str]):
        self._platform, self._names = platform, names
        self._admin = AdminClient({**platform.credentials.client_options(platform.kafka), "log_level": 0})

    def described(self) -> dict[str, Described]:
        """By name. Raises JobError where a topic is missing, or the broker does not answer in time."""
        asked = self._admin.describe_topics(TopicCollection(self._names), request_timeout=kafka.PATIENCE)
        found = {}
        for name, answer in asked.items():
            try:
                topic = answer.result(timeout=kafka.PATIENCE)
                found[name] = Described(str(topic.topic_id), len(topic.partitions))
            except (KafkaException, TimeoutError) as error:
                raise JobError(f"Kafka at {self._platform.kafka}, topic {name}: {error}") from error
        return found
