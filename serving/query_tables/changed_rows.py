"""The rows of queries' tables as they change: one thread and one consumer for all tables that have a listener.

It begins where the topics end, and holds no table: who wants the rows from before reads the table (`QueryTables`).
"""

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, IsolationLevel, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from contracts.queries import Query
from contracts.query_io import Output
from serving.events import Events
from serving.kept_events import ROW, Event
from serving.live_consumer import QUIET, reader
from serving.long_lived import LongLived
from serving.partitions import Place, described
from serving.problems import ProblemError
from serving.query_tables.declared_queries import DeclaredQueries
from serving.query_tables.kept_rows import Record
from serving.query_tables.models import RowEvent
from serving.query_tables.query_tables import QueryTables
from serving.query_tables.topic_table import no_kafka, no_topic

log = logging.getLogger("serving.changed_rows")

BATCH = 500  # records per turn; of those with one key the last becomes an event
ANSWER_SECONDS = 5.0  # within which the brokers have to answer
TURN_SECONDS = 60.0  # that a turn may take: half a second, or what the brokers have to answer
LOOK_EVERY = 5.0  # seconds between two looks at who listens, and at the topics' partitions
LINGER = 60.0  # seconds for which a query is followed that nobody listens to: a listener comes back and has missed nothing
NO_MATTER = (KafkaError._PARTITION_EOF, KafkaError.GROUP_AUTHORIZATION_FAILED)  # the latter is of a group that it does not need
QUEUE: dict[str, Any] = {"queued.max.messages.kbytes": 4096}


@dataclass
class Followed:
    query: Query
    tables: dict[str, Output]  # by topic
    asked_at: float  # when somebody listened last, by the monotonic clock


class ChangedRows:
    """Publishes to `events` each committed row of the tables that are followed. Safe to use from several threads. `kafka`: a
    client's basic options."""

    def __init__(self, kafka: dict[str, str], queries: DeclaredQueries, tables: QueryTables, events: Events):
        self._kafka, self._queries, self._tables, self._events = kafka, queries, tables, events
        self._lock = threading.Lock()  # of `_followed` and `_assigned`
        self._followed: dict[str, Followed] = {}
        self._assigned: dict[Place, str] = {}
        self._topics: dict[str, tuple[str, Output]] = {}  # replaced, never changed
        self.thread = LongLived("changed-rows", self._run, TURN_SECONDS)
        self._began = False

    def follow(self, query: Query, tables: dict[str, Output]) -> None:
        """Each row that is committed after this call becomes an event, as long as somebody listens. Raises ProblemError if the
        topics can't be read. tables: those of the query, by topic."""
        with self._lock:
            known = self._followed.get(query.name)
            if known is not None:  # as it was declared; if that has changed, the next look ends what listens
                known.asked_at = time.monotonic()
                return
            if not self._began:
                self._begin()
            try:
                self._join(tables)
            except KafkaException as error:
                raise no_kafka(next(iter(tables)), error) from error
            self._followed[query.name] = Followed(query, tables, time.monotonic())
            self._know()

    def stop(self) -> None:
        if self._began:
            self.thread.stop()

    def _begin(self) -> None:
        self._admin = AdminClient({**self._kafka, **QUIET})
        self._consumer = Consumer(reader(self._kafka) | QUEUE)
        self.thread.start()
        self._began = True

    def _join(self, topics: Iterable[str]) -> None:
        """Reads the topics from where what is committed ends. Beyond that may be rows of a transaction that is not over."""
        there = described(self._admin, topics, self.thread.ending, ANSWER_SECONDS) or {}
        if missing := set(topics) - {topic for topic, _ in there}:
            raise no_topic(min(missing))
        latest = {TopicPartition(*place): OffsetSpec.latest() for place in there}
        how = {"isolation_level": IsolationLevel.READ_COMMITTED, "request_timeout": ANSWER_SECONDS}
        found = self._admin.list_offsets(latest, **how)
        starts = [TopicPartition(each.topic, each.partition, answer.result().offset) for each, answer in found.items()]
        self._leave([place for place in there if place in self._assigned])  # as a look did not come to it
        self._consumer.incremental_assign(starts)
        self._assigned |= there

    def _leave(self, places: list[Place]) -> None:
        if places:
            self._consumer.incremental_unassign([TopicPartition(*place) for place in places])
            self._assigned = {place: identity for place, identity in self._assigned.items() if place not in places}

    def _know(self) -> None:
        self._topics = {topic: (name, table) for name, each in self._followed.items() for topic, table in each.tables.items()}

    def _run(self) -> None:
        looked, failed = time.monotonic(), ""
        while not self.thread.ending.is_set():
            self.thread.turns()
            try:
                if time.monotonic() - looked > LOOK_EVERY:
                    looked = time.monotonic()
                    self._look()
                self._turn()
                failed = ""
            except Exception as error:  # such as a broker that does not answer
                if failed != str(error):  # else it is known already
                    log.warning("changed rows not read: %s; trying again", error)
                failed = str(error)
                self.thread.ending.wait(0.5)
        self._consumer.close()

    def _look(self) -> None:
        """Lets the queries go that nobody has listened to lately, and those whose declaration is gone or has changed; follows the
        topics' partitions."""
        with self._lock:
            now, declared, wanted = time.monotonic(), self._queries.look(), self._events.queries()
            before = dict(self._followed)
            for name, each in before.items():
                if name in wanted:
                    each.asked_at = now
                if declared.get(name) != each.query or now - each.asked_at > LINGER:
                    del self._followed[name]
            for name in (wanted | before.keys()) - self._followed.keys():
                self._events.let_go(name)
            self._know()
            there = described(self._admin, self._topics, self.thread.ending, ANSWER_SECONDS) if self._topics else {}
            if there is not None:
                self._leave([place for place, identity in self._assigned.items() if there.get(place) != identity])
                new = there.keys() - self._assigned.keys()  # in partitions that are new, all rows are
                if new:
                    self._consumer.incremental_assign([TopicPartition(*place, OFFSET_BEGINNING) for place in new])
                self._assigned = there

    def _turn(self) -> None:
        """Waits for a record, then takes some of what else is there: a lone row is shown at once."""
        first = self._consumer.poll(0.5)
        if first is None:
            return
        newest: dict[tuple, Message] = {}
        for message in (first, *self._consumer.consume(BATCH, timeout=0)):
            error, of = message.error(), (message.topic(), message.partition(), message.key())
            if error is not None and error.code() not in NO_MATTER:
                log.warning("%s: %s", message.topic(), error.str())
            elif error is None and message.key() is not None:  # else it is no row of a table
                newest.pop(of, None)  # so that the rows of a partition stay in the order of their offsets
                newest[of] = message
        self._events.publish([event for message in newest.values() if (event := self._event(message)) is not None])

    def _event(self, message: Message) -> Event | None:
        """None if the query is no longer followed. Waits for a registry that does not answer."""
        known = self._topics.get(message.topic())
        key, record = message.key(), Record(message.value(), message.partition(), message.offset(), message.timestamp()[1])
        while known is not None and not self.thread.ending.is_set():
            query, table = known
            try:
                row = self._tables.row(key, record, table)
            except ProblemError:
                self.thread.turns()
                self.thread.ending.wait(1)
                continue
            changed = RowEvent(**vars(row), query=query, topic=message.topic(), removed=record.value is None)
            return Event(ROW, "", "", changed.model_dump_json(), query)
        return None
