"""The derived topics, followed: one thread that reads scored readings, anomalies and incidents of every feed into memory.

Partitions are assigned, never subscribed, and no offset is committed: each process reads for itself, readings from about an hour
back, of anomalies as many as memory keeps, and incidents from their first.
Brokers that are down, topics that do not exist yet and records that do not decode are states to be shown, not reasons to stop.
"""

import datetime as dt
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from contracts.feeds import Feed
from serving.decoder import RegistryUnavailable, Undecodable
from serving.events import Events
from serving.intake import Intake
from serving.kept_events import Event
from serving.long_lived import LongLived
from serving.partitions import Place, described, offsets_at, offsets_before_end

log = logging.getLogger("serving.live_consumer")
librdkafka_log = logging.getLogger("serving.librdkafka")
librdkafka_log.setLevel(logging.CRITICAL)  # it repeats itself at every attempt to connect; what matters arrives by error_cb

BATCH = 2000  # records per turn
PATIENCE = 60.0  # seconds that a turn may take: it takes half a second, unless the registry does not answer
DISCOVER_SECONDS = 5.0  # how often feeds, topics and brokers are looked for
ANSWER_SECONDS = 3.0  # within which the brokers have to answer
QUIET: dict[str, Any] = {"reconnect.backoff.max.ms": 2000, "logger": librdkafka_log}
INTERVALS_BACK = 360  # a feed of long intervals is read back at least this many of them
PER_ANOMALY = 4  # records of a partition, for each anomaly that memory keeps: some repeat one, delete one, or were compacted


@dataclass
class Status:
    """What /health shows of the consumer. Written by its thread only; single fields, so readers need no lock."""

    broker: Literal["connecting", "connected", "unreachable"] = "connecting"
    broker_error: str | None = None
    registry_error: str | None = None
    records: int = 0
    undecodable: int = 0
    last_undecodable: str | None = None
    missing_topics: list[str] = field(default_factory=list)
    caught_up: bool = False
    as_of: dt.datetime | None = None  # until when the topics are read


class LiveConsumer:
    """Follows the topics of the feeds into memory, and publishes what is new to `events`. `kafka`: a client's basic options.

    `feeds` is asked at each discovery: new ones are taken up, and memory lets those go that are gone.
    """

    def __init__(
        self,
        kafka: dict[str, str],
        feeds: Callable[[], Mapping[str, Feed]],
        intake: Intake,
        events: Events,
        lookback_seconds: int,
        anomalies_per_feed: int,
    ):
        self.status = Status()
        self._feeds, self._intake, self._events = feeds, intake, events
        self._lookback, self._anomalies = lookback_seconds, anomalies_per_feed
        self._topics = _topics(feeds())
        self._assigned: dict[Place, str] = {}
        self._at_end: set[Place] = set()
        self.thread = LongLived("live", self._run, PATIENCE)
        self._admin = AdminClient({**kafka, **QUIET})
        self._consumer = Consumer({**reader(kafka), "error_cb": self._on_error})

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        self.thread.stop()

    def _run(self) -> None:
        discovered = float("-inf")
        while not self.thread.ending.is_set():
            self.thread.turns()
            try:
                if time.monotonic() - discovered >= DISCOVER_SECONDS:
                    self._discover()
                    discovered = time.monotonic()
                self._turn()
                if self.status.broker == "connected" and self.status.caught_up:
                    self.status.as_of = dt.datetime.now(dt.UTC)
            except KafkaException as error:
                self._broker_down(error.args[0].str())
                discovered = time.monotonic()
                self.thread.ending.wait(0.5)
            except Exception:
                log.exception("a turn failed; trying again")
                self.thread.ending.wait(0.5)
        self._consumer.close()

    def _discover(self) -> None:
        """Assigns the partitions that came to exist since, each from the start of the time looked back on; drops those gone."""
        feeds = self._feeds()
        topics = _topics(feeds)
        there = described(self._admin, topics, self.thread.ending, ANSWER_SECONDS)
        if there is None:
            return
        self.status.broker, self.status.broker_error = "connected", None
        self.status.missing_topics = sorted(topics.keys() - {topic for topic, _ in there})
        self._topics = topics
        gone = {each for each, identity in self._assigned.items() if there.get(each) != identity}
        if gone:
            self._consumer.incremental_unassign([TopicPartition(*each) for each in gone])
            self._at_end -= gone
            self._assigned = {each: identity for each, identity in self._assigned.items() if each not in gone}
        self._intake.keep(feeds)
        self._events.keep(feeds)
        new = there.keys() - self._assigned.keys()
        if new:
            self._consumer.incremental_assign(self._starts(new))
            self._assigned = there
        self.status.caught_up = self._at_end >= self._assigned.keys()

    def _starts(self, places: set[Place]) -> list[TopicPartition]:
        """Where to begin: the first offset written within the time looked back on; a partition without one, at its end. Anomalies
        may be rare, so of them a number of records is read, however old."""
        now, rare = time.time(), {place for place in places if self._topics[place[0]][1] == "anomaly"}
        times = {place: int((now - self._seconds_back(place[0])) * 1000) for place in places - rare}
        found = offsets_at(self._consumer, times) | offsets_before_end(self._consumer, rare, PER_ANOMALY * self._anomalies)
        return [TopicPartition(*place, offset) for place, offset in found.items()]

    def _seconds_back(self, topic: str) -> int:
        feed, record = self._topics[topic]
        if record == "incident":
            return feed.retention_days * 86_400  # they are few, and one may be open for long
        return max(self._lookback, INTERVALS_BACK * feed.interval_seconds)

    def _turn(self) -> None:
        """Waits for a record, then takes whatever else is there: a lone record is shown at once, a flood in large gulps."""
        first = self._consumer.poll(0.5)
        if first is None:
            return
        events = []
        for message in (first, *self._consumer.consume(BATCH, timeout=0)):
            event = self._take(message)
            if event is not None:
                events.append(event)
        self._events.publish(events)

    def _take(self, message: Message) -> Event | None:
        place = (message.topic(), message.partition())
        if message.error() is not None:
            if message.error().code() == KafkaError._PARTITION_EOF:
                self._at_end.add(place)
                self.status.caught_up = self._at_end >= self._assigned.keys()
            else:
                log.warning("%s: %s", message.topic(), message.error().str())
            return None
        feed, record = self._topics[message.topic()]
        try:
            return self._taken(feed, record, message)
        except Undecodable as error:
            self._count(message, str(error))
        except Exception as error:  # no record may end the thread, whatever is wrong with it or with us
            if self.status.undecodable < 10:
                log.exception("%s-%s-%s", message.topic(), message.partition(), message.offset())
            self._count(message, f"{type(error).__name__}: {error}")
        finally:
            self.status.records += 1  # only now: who sees it counted finds it in memory
        return None

    def _taken(self, feed: Feed, record: str, message: Message) -> Event | None:
        """Waits for a registry that is down: the record may well be fine."""
        while True:
            try:
                event = self._intake.take(feed, record, message.key(), message.value(), message.timestamp()[1])
                self.status.registry_error = None
                return event
            except RegistryUnavailable as error:
                if self.status.registry_error is None:
                    log.warning("schema registry: %s; trying again", error)
                self.status.registry_error = str(error)
                if self.thread.ending.wait(1):
                    raise Undecodable("stopped before the registry answered") from error

    def _count(self, message: Message, reason: str) -> None:
        self.status.undecodable += 1
        self.status.last_undecodable = f"{message.topic()}-{message.partition()}-{message.offset()}: {reason}"
        if self.status.undecodable <= 10 or self.status.undecodable % 1000 == 0:
            log.warning("undecodable record %s (%d so far)", self.status.last_undecodable, self.status.undecodable)

    def _on_error(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self._broker_down(error.str())

    def _broker_down(self, reason: str) -> None:
        if self.status.broker != "unreachable":
            log.warning("broker unreachable: %s; trying again", reason)
        self.status.broker, self.status.broker_error = "unreachable", reason


def reader(kafka: dict[str, str]) -> dict[str, Any]:
    """Options of a consumer that reads for itself."""
    return {
        **kafka,
        **QUIET,
        "group.id": "sundial-serving",  # librdkafka wants a name; nothing is ever committed under it
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
        "fetch.queue.backoff.ms": 5,
    }


def _topics(feeds: Mapping[str, Feed]) -> dict[str, tuple[Feed, str]]:
    """By each derived topic, its feed and the kind of its records."""
    records = {"scored_topic": "scored", "anomalies_topic": "anomaly", "incidents_topic": "incident"}
    return {getattr(feed, topic): (feed, record) for feed in feeds.values() for topic, record in records.items()}
