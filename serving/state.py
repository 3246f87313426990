"""What one serving process holds: the feeds, their latest readings, and where it reads."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from contracts.feeds import Feed
from contracts.queries import QUERIES
from serving import long_reads
from serving.access.audit import Audit
from serving.access.known_users import KnownUsers
from serving.access.provider import Provider
from serving.access.rate_limit import ACTS, FAILED_LOGINS, RateLimit
from serving.acts.through_airflow import ThroughAirflow
from serving.archive import Archive
from serving.backlog import Backlog
from serving.baseline_versions import BaselineVersions
from serving.dead_letters import DeadLetters
from serving.declared_feeds import DeclaredFeeds
from serving.decoder import Decoder
from serving.events import Events
from serving.history import KNOWN_DATES, History
from serving.incidents import Incidents
from serving.intake import Intake
from serving.lake import Lake, if_readable
from serving.lake_watch import LakeWatch
from serving.live_consumer import LiveConsumer
from serving.long_lived import Standstill
from serving.memory import Memory
from serving.query_tables.changed_rows import ChangedRows
from serving.query_tables.declared_queries import DeclaredQueries
from serving.query_tables.query_tables import QueryTables
from serving.scored import Scored
from serving.series_answers import SeriesAnswers
from serving.settings import Settings
from serving.stream_watch import StreamWatch
from serving.tables import Tables

T = TypeVar("T")


@dataclass(frozen=True)
class State:
    settings: Settings
    declared: DeclaredFeeds
    memory: Memory
    incidents: Incidents
    events: Events
    live: LiveConsumer
    tables: Tables
    history: History
    backlog: Backlog
    dead_letters: DeadLetters
    answers: SeriesAnswers
    lake_watch: LakeWatch
    stream_watch: StreamWatch
    baseline_versions: BaselineVersions
    users: KnownUsers
    failed_logins: RateLimit
    provider: Provider | None
    acting: RateLimit
    acts: ThroughAirflow
    audit: Audit
    queries: DeclaredQueries
    query_tables: QueryTables
    changed_rows: ChangedRows

    @classmethod
    def of(cls, settings: Settings) -> "State":
        """Raises DeclarationError where a feed's declaration has a mistake."""
        declared = DeclaredFeeds(settings.feeds)
        memory = Memory(settings.readings_per_service, settings.services_per_feed, settings.anomalies_per_feed)
        incidents = Incidents(settings.incidents_per_feed)
        events = Events(settings.client_queue)
        kafka = settings.credentials.client_options(settings.kafka)
        live_intake, intake = (Intake(memory, incidents, Decoder(settings.registry)) for _ in range(2))  # one for each thread
        live = LiveConsumer(kafka, declared.look, live_intake, events, settings.lookback_seconds, settings.anomalies_per_feed)
        tables = Tables(Lake(settings.lake))
        history = History(tables.lake)
        backlog = Backlog(kafka, lambda: declared.feeds, history, intake)
        queries = DeclaredQueries(settings.feeds.parent / QUERIES.name)
        query_tables = QueryTables(kafka, settings.registry)
        return cls(
            settings,
            declared,
            memory,
            incidents,
            events,
            live,
            tables,
            history,
            backlog,
            DeadLetters(kafka),
            SeriesAnswers(),
            LakeWatch(lambda: declared.feeds, tables, memory, events),
            StreamWatch(Path(settings.streams), settings.spark_history, events),
            BaselineVersions(tables),
            KnownUsers(settings.users),
            RateLimit(*FAILED_LOGINS),
            Provider(settings.provider, settings.session_secret) if settings.provider else None,
            RateLimit(*ACTS),
            ThroughAirflow(settings.airflow_rest(), settings.airflow_url or settings.airflow),
            Audit(settings.audit),
            queries,
            query_tables,
            ChangedRows(kafka, queries, query_tables, events),
        )

    @property
    def feeds(self) -> dict[str, Feed]:
        """Every declared feed by name."""
        return self.declared.feeds

    def services(self, feed: Feed, dates: int = KNOWN_DATES) -> set[str]:
        """Services known from live readings, the newest so many dates of history, the baseline in force, or by an open incident.
        Tables that can't be read name none."""
        live = self.memory.services(feed.name).keys() | self.incidents.services(feed.name)
        return live | self._archived(feed, dates) | self.baseline_of(feed)

    def knows(self, feed: Feed, service: str) -> bool:
        """Whether `services` has it."""
        live = self.memory.knows(feed.name, service) or service in self.incidents.services(feed.name)
        return live or service in self.baseline_of(feed) or service in self._archived(feed, KNOWN_DATES)

    def baseline_of(self, feed: Feed) -> frozenset[str]:
        """Services that the baseline in force knows; none while it can't be read."""
        return if_readable(self.tables.services, frozenset(), feed)

    def _archived(self, feed: Feed, dates: int) -> frozenset[str]:
        return if_readable(self.history.services, frozenset(), feed, dates)

    @property
    def archive(self) -> Archive:
        return Archive(self.history, self.tables)

    def standstills(self) -> list[Standstill]:
        """Threads and processes of serving that have died or stand still."""
        every = (self.live, self.backlog, self.lake_watch, self.stream_watch, self.changed_rows)
        found = [*(each.thread.standstill() for each in every), long_reads.standstill(), *self.query_tables.standstills()]
        return [each for each in found if each]

    def read(self, feed: Feed, long: bool, work: Callable[..., T], *arguments: object) -> T:
        """Calls `work(archive, feed, *arguments)`, a function of serving.archive. For a long window a separate process does it,
        so that other requests need not wait."""
        if long:
            return long_reads.run(self.settings.lake, self.archive.versions(feed), work, feed, *arguments)
        return work(self.archive, feed, *arguments)

    def live_readings(self, feed: Feed, service: str, start: dt.datetime, end: dt.datetime) -> Scored:
        """What memory holds of [start, end]. Read it before the archive: what memory lets go meanwhile is still in the answer."""
        return self.memory.scored(feed.name, service, *(round(each.timestamp() * 1000) for each in (start, end)))

    def newest_at(self, feed: Feed) -> int | None:
        """Time of the newest reading of any service, live or, where history can be read, archived; epoch milliseconds."""
        archived = if_readable(self.history.newest_at, None, feed)
        return max(filter(None, (self.memory.newest_at(feed.name), archived)), default=None)

    def now(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC)
