"""Feeds: one YAML file under `schemas/feeds/` each. A feed's topics, tables and names all follow from its declaration."""

import datetime as dt
import zoneinfo
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from contracts import avro
from contracts.access_logs import AccessLog
from contracts.calendar import Calendar
from contracts.calendar_entries import CALENDAR, Entry, Kind, load_calendar
from contracts.declarations import (
    SCHEMAS,
    AvroName,
    Declaration,
    DeclarationError,
    Declared,
    Duration,
    TimeZone,
    Topic,
    dead_letter_topic,
    dead_letters,
    load,
    no_contract,
)
from contracts.gate import Gate
from contracts.incidents import Incidents
from contracts.public_holidays import Holidays

FEEDS = SCHEMAS / "feeds"
SECONDS_PER_DAY = 86_400
COUNTED_WITHIN = 900  # seconds; every time zone's days begin at such a quarter of an hour
TIMES = ("timestamp-millis", "timestamp-micros")  # Avro types of a reading's time, and of its value
VALUES = ("int", "long")
COUNTED = ("Timestamp", "Value")  # fields of a reading that is counted from lines


class Rule(Declared):
    """When a reading is anomalous: every condition that is on (not null) must hold."""

    # What a reading is compared with. `plain`: Expected and Spread. `robust`: Level and Scale, in their place below.
    normal: Literal["plain", "robust"] = "plain"
    percent: Annotated[float, Field(ge=0)] | None = 5.0  # abs(100 * Value / Expected - 100) > percent
    spread: Annotated[float, Field(gt=0)] | None = None  # abs(Value - Expected) > spread * Spread
    minimum: Annotated[float, Field(ge=0)] | None = None  # max(Value, Expected) >= minimum

    @property
    def conditions(self) -> dict[str, float | None]:
        """Those that are on, and None for the others, as the formula takes them."""
        return self.model_dump(exclude={"normal"})

    @model_validator(mode="after")
    def _not_all_off(self) -> Self:
        if self.percent is None and self.spread is None:
            raise ValueError("percent and spread are both off: every reading would be anomalous")
        return self


class Feed(Declaration):
    """A declared stream of readings: one value per service and reporting interval."""

    description: str
    record: AvroName  # the value's contract: schemas/avro/<record>/v<N>.avsc
    access_log: AccessLog | None = None  # where its readings are counted from; null: producers send them
    key: AvroName = "ServiceName"  # what the topic's key (UTF-8 text) names
    time: AvroName = "Timestamp"  # field of the record: start of the interval
    value: AvroName = "Value"  # field of the record: the reading
    interval_seconds: Annotated[int, Field(gt=0, le=SECONDS_PER_DAY)] = 10
    timezone: TimeZone = "UTC"
    holidays: Holidays | None = None
    partitions: Annotated[int, Field(ge=1, le=512)] = 2
    retention_days: Annotated[int, Field(ge=1)] = 45  # of the topic
    most_ahead: Duration = "14 days"  # how far a reading's time may be ahead of the broker's clock; beyond, a dead letter
    most_behind: Duration | None = None  # how far it may be behind that clock; null: history_days
    longest_service: Annotated[int, Field(ge=1, le=1024)] = 256  # bytes of a service's name; a longer one is no reading
    history_days: Annotated[int, Field(ge=60)] = 400  # of history/<table>; a baseline needs the last 16 weeks at most
    growth: bool = False  # whether what is expected follows the weekly growth of the last four weeks
    spread_window_seconds: Annotated[int, Field(gt=0, le=SECONDS_PER_DAY)] = 900  # neighbourhood that pools residuals
    rule: Rule = Rule()
    incidents: Incidents = Incidents()
    gate: Gate = Gate()
    _entries: tuple[Entry, ...] = PrivateAttr(())  # of the calendar
    _found: Mapping[dt.date, Kind] = PrivateAttr(default_factory=dict)  # of holidays and special days, by evidence

    @model_validator(mode="after")
    def _day_is_whole(self) -> Self:
        if SECONDS_PER_DAY % self.interval_seconds:
            raise ValueError(f"interval_seconds {self.interval_seconds} does not divide a day")
        if self.spread_window_seconds % self.interval_seconds or SECONDS_PER_DAY % self.spread_window_seconds:
            raise ValueError(
                f"spread_window_seconds {self.spread_window_seconds} is no multiple of interval_seconds {self.interval_seconds} "
                "that divides a day"
            )
        return self

    @model_validator(mode="after")
    def _counted_intervals(self) -> Self:
        if self.access_log and COUNTED_WITHIN % self.interval_seconds:
            raise ValueError(
                f"interval_seconds {self.interval_seconds} of an access log does not divide {COUNTED_WITHIN}: "
                "its intervals would not begin with the local day in every time zone"
            )
        return self

    def unmet(self) -> Iterator[str]:
        if missing := list(no_contract("record", self.record)):
            yield from missing
            return
        fields = {field["name"]: _type(field["type"]) for field in avro.latest(self.record)["fields"]}
        if self.access_log and {self.time, self.value} | set(fields) != set(COUNTED):
            yield f"record: what is counted of an access log has the fields {' and '.join(COUNTED)}, and no other"
            return
        for of, name, allowed in (("time", self.time, TIMES), ("value", self.value, VALUES)):
            if name not in fields:
                yield f"{of}: {self.record} has no field {name!r}: one of {', '.join(fields)}"
            elif fields[name] not in allowed:
                yield f"{of}: the field {name!r} of {self.record} is {fields[name]}, must be {' or '.join(allowed)}"

    @property
    def slots(self) -> int:
        """Slots in a local day."""
        return SECONDS_PER_DAY // self.interval_seconds

    @property
    def spread_windows(self) -> int:
        """Neighbourhoods in a local day that share one spread."""
        return SECONDS_PER_DAY // self.spread_window_seconds

    @property
    def topic(self) -> str:
        return self.name

    @property
    def scored_topic(self) -> str:
        return f"{self.name}.scored"

    @property
    def anomalies_topic(self) -> str:
        return f"{self.name}.anomalies"

    @property
    def incidents_topic(self) -> str:
        return f"{self.name}.incidents"

    @property
    def dead_letter_topic(self) -> str:
        return dead_letter_topic(self.topic)

    @property
    def topics(self) -> list[Topic]:
        """All of them. Derived topics are compacted: of each reading the last output stays, whichever version of the baseline
        it has. Before the compaction, readers see all of them."""
        derived = {self.scored_topic: "scored", self.anomalies_topic: "anomaly", self.incidents_topic: "incident"}
        return [
            Topic(self.topic, self.partitions, self.retention_days, record=self.record),
            *(Topic(name, self.partitions, self.retention_days, True, record, grows=True) for name, record in derived.items()),
            dead_letters(self.topic, self.retention_days),
        ]

    @property
    def table(self) -> str:
        """Name of the feed's folder in every group of tables: history/<table>, baseline/<table>, ..."""
        return self.name.replace("-", "_")

    @property
    def oldest(self) -> Duration:
        """How far behind the broker's clock a reading's time may be."""
        return self.most_behind or f"{self.history_days} days"

    @property
    def zone(self) -> zoneinfo.ZoneInfo:
        return zoneinfo.ZoneInfo(self.timezone)

    @property
    def calendar(self) -> Calendar:
        """Types of days, dates of a baseline, and maintenance windows."""
        return Calendar(self.zone, self.holidays, self._entries, self._found)

    def with_entries(self, entries: Iterable[Entry]) -> Self:
        """The same feed with what of these special days and maintenance windows is for it."""
        found = self.model_copy()
        found._entries = tuple(each for each in entries if self.name in each.feeds)
        return found

    def with_found(self, special_days: Mapping[dt.date, Kind]) -> Self:
        """The same feed with what public holidays and special days are taken for by evidence."""
        found = self.model_copy()
        found._found = special_days
        return found


def _type(avro_type: Any) -> str:
    """The name of a field's type: its logical type, where it has one; of what may be null, that of the rest."""
    if isinstance(avro_type, list):
        return " or ".join(_type(each) for each in avro_type if each != "null")
    return avro_type if isinstance(avro_type, str) else avro_type.get("logicalType", avro_type["type"])


def load_feeds(folder: Path = FEEDS) -> dict[str, Feed]:
    """Every declared feed by name, with its special days and maintenance windows, which are in the folder `calendar` beside it.
    Raises DeclarationError listing all mistakes of all files."""
    mistakes: list[str] = []
    feeds, entries = dict[str, Feed](), dict[str, Entry]()
    try:
        feeds = load(folder, Feed)
    except DeclarationError as error:
        mistakes += str(error).splitlines()
    try:
        entries = load_calendar(folder.parent / CALENDAR.name, None if mistakes else feeds)
    except DeclarationError as error:
        mistakes += str(error).splitlines()
    if mistakes:
        raise DeclarationError("\n".join(mistakes))
    return {name: feed.with_entries(entries.values()) for name, feed in feeds.items()}


def load_feed(name: str, folder: Path = FEEDS) -> Feed:
    """The feed of that name; DeclarationError names the known ones."""
    feeds = load_feeds(folder)
    if name not in feeds:
        raise DeclarationError(f"no feed {name!r}: one of {', '.join(feeds)}")
    return feeds[name]
