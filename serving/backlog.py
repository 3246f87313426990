"""What the scored topics hold from before serving's start, and history does not: today's readings, read back once into memory.

In a thread and with a consumer of its own: following what comes now does not wait for it. Order does not matter: of two readings
for one time memory keeps the one that the broker took later.
"""

import datetime as dt
import logging
import time
from collections.abc import Callable, Iterator, Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import TopicMetadata

from contracts.feeds import Feed
from serving.decoder import RegistryUnavailable, Undecodable
from serving.history import History
from serving.intake import Intake
from serving.live_consumer import reader
from serving.long_lived import LAKE_PATIENCE, LongLived
from serving.partitions import offsets_at

log = logging.getLogger("serving.backlog")

EVERY = 10.0  # seconds between looks for a feed that was not read back yet
PATIENCE = 10.0  # seconds for a broker that does not answer
BATCH = 2000
MOST = dt.timedelta(days=3)  # an archive that is later leaves a gap
MARGIN = dt.timedelta(hours=1)  # before the end of history: an archive that was killed is not as far in each partition


class Backlog:
    """Reads back each feed's scored topic, from the end of its history to `start`, where `LiveConsumer` began."""

    def __init__(self, kafka: dict[str, str], feeds: Callable[[], Mapping[str, Feed]], history: History, intake: Intake):
        self._kafka, self._feeds, self._history, self._intake = kafka, feeds, history, intake
        self._read: set[str] = set()
        self.unread: dict[str, str] = {}  # feeds that could not be read back yet, each with the reason
        self._started = dt.datetime.now(dt.UTC)
        self.thread = LongLived("backlog", self._run, LAKE_PATIENCE)

    def start(self) -> None:
        self._started = dt.datetime.now(dt.UTC)
        self.thread.start()

    def stop(self) -> None:
        self.thread.stop()

    def loading(self, feed: Feed) -> bool:
        """Whether readings may be missing that were not read back yet."""
        return feed.name not in self._read

    def _run(self) -> None:
        while not self.thread.ending.is_set():
            self.thread.turns()
            feeds = self._feeds()
            self._read &= feeds.keys()  # one that is declared again is read back again
            self.unread = {name: why for name, why in self.unread.items() if name in feeds}
            for name, feed in feeds.items():
                if name not in self._read and not self.thread.ending.is_set():
                    self._look(feed)
            self.thread.ending.wait(EVERY)

    def _look(self, feed: Feed) -> None:
        self.thread.turns()
        try:
            began = time.monotonic()
            records = self._read_back(feed)
            if not self.thread.ending.is_set():
                self._read.add(feed.name)
                self.unread.pop(feed.name, None)
                log.info("%s: %d records read back in %.1f s", feed.scored_topic, records, time.monotonic() - began)
        except Exception as error:  # of many kinds, by the broker and the kind of lake
            if feed.name not in self.unread:
                log.warning("%s not read back: %s; trying again", feed.scored_topic, error)
            self.unread[feed.name] = str(error)

    def _read_back(self, feed: Feed) -> int:
        consumer = Consumer(reader(self._kafka))
        try:
            stops = self._assign(consumer, feed)
            records = 0
            for message in self._messages(consumer, stops):
                self._take(feed, message)
                records += 1
            return records
        finally:
            consumer.close()

    def _assign(self, consumer: Consumer, feed: Feed) -> dict[int, int]:
        """Assigns what is to be read back; by partition, the offset before which it ends."""
        described = self._described(consumer, feed.scored_topic)
        if described is None:
            return {}
        if described.error is not None:
            if described.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return {}
            raise KafkaException(described.error)
        archived = self._history.until(feed)
        begin = max(self._started - MOST, archived - MARGIN) if archived else self._started - MOST
        places = [(feed.scored_topic, partition) for partition in described.partitions]
        first, last = (offsets_at(consumer, dict.fromkeys(places, round(at.timestamp() * 1000))) for at in (begin, self._started))
        todo = [place for place in places if first[place] < last[place]]
        consumer.assign([TopicPartition(*place, first[place]) for place in todo])
        return {place[1]: last[place] for place in todo}

    def _described(self, consumer: Consumer, topic: str) -> TopicMetadata | None:
        """None if serving ends before the broker answers. Raises KafkaException if it does not answer within PATIENCE."""
        given_up = time.monotonic() + PATIENCE
        while not self.thread.ending.is_set():
            try:
                return consumer.list_topics(topic, timeout=0.5).topics[topic]
            except KafkaException:
                if time.monotonic() >= given_up:
                    raise
        return None

    def _messages(self, consumer: Consumer, stops: dict[int, int]) -> Iterator[Message]:
        """Records before the stop of their partition. Ends when all are read, or when serving ends."""
        waiting = set(stops)
        while waiting and not self.thread.ending.is_set():
            self.thread.turns()
            for message in consumer.consume(BATCH, timeout=0.5):
                partition = message.partition()
                if message.error() is not None:
                    if message.error().code() != KafkaError._PARTITION_EOF:
                        raise KafkaException(message.error())
                    waiting.discard(partition)
                elif message.offset() < stops[partition]:
                    yield message
                if message.error() is None and message.offset() + 1 >= stops[partition]:
                    waiting.discard(partition)

    def _take(self, feed: Feed, message: Message) -> None:
        while not self.thread.ending.is_set():
            try:
                self._intake.take(feed, "scored", message.key(), message.value(), message.timestamp()[1])
                return
            except RegistryUnavailable:
                self.thread.turns()
                self.thread.ending.wait(1)
            except Undecodable as error:
                log.debug("%s-%s-%s: %s", message.topic(), message.partition(), message.offset(), error)
                return
