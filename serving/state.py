"""What one serving process holds: the feeds, their latest readings, and where it reads."""

import datetime as dt
from dataclasses import dataclass

from contracts.feeds import Feed
from serving.baseline_services import BaselineServices
from serving.declared_feeds import DeclaredFeeds
from serving.decoder import Decoder
from serving.events import Events
from serving.incidents import Incidents
from serving.intake import Intake
from serving.live_consumer import LiveConsumer
from serving.memory import Memory
from serving.settings import Settings
from serving.tables import Tables


@dataclass(frozen=True)
class State:
    settings: Settings
    declared: DeclaredFeeds
    memory: Memory
    incidents: Incidents
    events: Events
    live: LiveConsumer
    tables: Tables
    baseline_services: BaselineServices

    @classmethod
    def of(cls, settings: Settings) -> "State":
        """Raises DeclarationError where a feed's declaration has a mistake."""
        declared = DeclaredFeeds(settings.feeds)
        memory = Memory(settings.readings_per_service, settings.services_per_feed, settings.anomalies_per_feed)
        incidents = Incidents(settings.incidents_per_feed)
        events = Events(settings.client_queue)
        kafka = settings.access.client_options(settings.kafka)
        intake = Intake(memory, incidents, Decoder(settings.registry))
        live = LiveConsumer(kafka, declared.look, intake, events, settings.lookback_seconds)
        tables = Tables(settings.lake)
        baseline_services = BaselineServices(lambda: declared.feeds, tables, memory)
        return cls(settings, declared, memory, incidents, events, live, tables, baseline_services)

    @property
    def feeds(self) -> dict[str, Feed]:
        """Every declared feed by name."""
        return self.declared.feeds

    def services(self, feed: Feed) -> set[str]:
        """Services known from live readings, from the baseline in force, or by an open incident."""
        return self.memory.services(feed.name).keys() | self.tables.services(feed) | self.incidents.services(feed.name)

    def now(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC)
