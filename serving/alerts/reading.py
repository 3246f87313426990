"""The incidents' topics and the topic of alerts, followed from where the last transaction left off."""

import datetime as dt
import logging
import math
import threading
from collections.abc import Mapping
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from contracts.alerts import ALERTS
from contracts.feeds import Feed
from serving.alerts.ledger import Position, reader_options
from serving.alerts.messages import Incident
from serving.decoder import Decoder, RegistryUnavailable, Undecodable
from serving.partitions import Place, described

log = logging.getLogger("serving.alerts")
BATCH = 500  # records per turn
WAIT = 0.2  # seconds that a turn waits for a record
RECORD = "incident"
ANSWER_SECONDS = 10.0  # within which the brokers have to answer


class Reading:
    """What comes, turn by turn. A topic that does not exist yet is looked for at each discovery."""

    def __init__(self, client: Mapping[str, Any], registry: str, stop: threading.Event):
        self.consumer = Consumer({**client, **reader_options()})
        self._admin = AdminClient({**client, "log_level": 0})
        self._decoder = Decoder(registry)
        self._stop = stop
        self._feeds: dict[str, str] = {}  # by topic
        self._assigned: dict[Place, str] = {}

    def follow(self, end: int) -> None:
        """Begin with the topic of alerts, from that offset on: rows that people write come there."""
        self.consumer.assign([TopicPartition(ALERTS.name, 0, end)])

    def discover(self, feeds: Mapping[str, Feed], positions: Mapping[Place, Position]) -> dict[Place, Position]:
        """Assign the incidents' partitions that are new, drop those that are gone. Returns where the new ones are read on from,
        which is the beginning of a topic that was never read. Raises KafkaException."""
        self._feeds = {feed.incidents_topic: feed.name for feed in feeds.values()}
        there = described(self._admin, self._feeds, self._stop, ANSWER_SECONDS)
        if there is None:
            return {}
        gone = {each for each, identity in self._assigned.items() if there.get(each) != identity}
        if gone:
            self.consumer.incremental_unassign([TopicPartition(*each) for each in gone])
        fresh = {each: identity for each, identity in there.items() if each in gone or each not in self._assigned}
        found = {}
        for place, identity in fresh.items():
            known = positions.get(place)
            offset = known.offset if known and known.topic_id == identity else OFFSET_BEGINNING
            found[place] = Position(identity, offset, caught_up=False)
        if found:
            self.consumer.incremental_assign([TopicPartition(*place, each.offset) for place, each in found.items()])
        self._assigned = there
        return found

    def feeds_caught_up(self, positions: Mapping[Place, Position]) -> set[str]:
        """Those of which every partition was read to its end."""
        behind = {topic for (topic, number) in self._assigned if not positions[topic, number].caught_up}
        return {self._feeds[topic] for topic, _ in self._assigned if topic in self._feeds and topic not in behind}

    def come(self) -> list[Message]:
        """Records and ends of partitions. Raises KafkaException where Kafka says that something is wrong for good."""
        first = self.consumer.poll(WAIT)
        return [] if first is None else [first, *self.consumer.consume(BATCH, timeout=0)]

    def identity(self, place: Place) -> str:
        return self._assigned[place]

    def incident(self, message: Message) -> tuple[str, Incident] | None:
        """The feed and the incident of a record; None if it has none that can be read. Waits for a registry that is down."""
        feed = self._feeds.get(message.topic())
        if feed is None or message.value() is None:
            return None
        warned = False
        while True:
            try:
                return feed, _incident(self._decoder.decode(message.value(), RECORD))
            except Undecodable as error:
                log.warning("%s-%s-%s is no incident: %s", message.topic(), message.partition(), message.offset(), error)
                return None
            except RegistryUnavailable as error:
                if not warned:
                    log.warning("schema registry: %s; trying again", error)
                warned = True
                if self._stop.wait(1):
                    raise


def _incident(row: dict[str, Any]) -> Incident:
    """As JSON can hold it. Raises Undecodable where it can't."""
    if wrong := [name for name, cell in row.items() if isinstance(cell, float) and not math.isfinite(cell)]:
        raise Undecodable(f"{wrong[0]} is no finite number")
    return {name: _text(cell) if isinstance(cell, dt.datetime) else cell for name, cell in row.items()}


def _text(at: dt.datetime) -> str:
    """ISO 8601 in UTC, always of the same length, so that texts compare as times do."""
    return at.astimezone(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
