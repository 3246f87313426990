"""The scoring driver on a real broker, in the tests' own session: what makes it plan anew while it runs, what it leaves out."""

import datetime as dt
import hashlib
import io
import json
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import deltalake
import fastavro
import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from contracts import avro
from contracts.avro import Level
from contracts.feeds import Feed
from jobs import archive, score
from jobs.backends import tables
from jobs.backends.settings import Platform
from jobs.streams import score_query
from jobs.streams.known_writers import MOST_REFUSED
from stack.deploy import schemas
from stack.deploy import topics as deployed
from supervision.files import StreamFolder
from supervision.status import read_status
from tests.jobs.readings import ANY_TIME
from tests.support import topics
from tests.support.waiting import until

pytestmark = pytest.mark.full
LARGE = {"message.max.bytes": 1_100_000}  # of a producer, so that it sends as much as Java's does
ZONE = ZoneInfo("America/New_York")
TUESDAY = dt.datetime(2026, 11, 24, 23, 59, 50, tzinfo=ZONE)


@pytest.fixture
def feed(broker, monkeypatch) -> Feed:
    """A feed of its own with one partition: what was sent earlier is scored earlier."""
    name = f"calls-{uuid.uuid4().hex[:8]}"
    declared = {"name": name, "description": "calls", "record": "service_use_record", "timezone": str(ZONE), "partitions": 1}
    made = Feed(**declared, interval_seconds=3600, spread_window_seconds=3600, **ANY_TIME)
    deployed.deploy(broker.kafka, made.topics)
    schemas.register(broker.registry, made.topics)
    monkeypatch.setattr("jobs.backends.settings.load_feed", lambda name: made)
    return made


class Clock(dt.datetime):
    """The driver's; it stands until it is set."""

    at = TUESDAY

    @classmethod
    def now(cls, tz=None):
        return cls.at.astimezone(tz)


class Scoring:
    """The driver, and a producer and a consumer that know versions of the contract as schemas."""

    def __init__(self, broker, platform, feed: Feed, run_job):
        self.broker, self.platform, self.feed, self.run_job = broker, platform, feed, run_job
        self.folder = StreamFolder(f"{platform.streams}/{feed.name}.score")
        self.registry = SchemaRegistryClient({"url": broker.registry})

    def while_running(self, act: Callable[[], None], *options: str) -> None:
        """`act` is done beside the driver, once it runs; then the driver is stopped."""

        def conduct() -> None:
            try:
                until("the stream", lambda: read_status(self.folder).state == "running", 120)
                act()
            finally:
                (self.folder.path / "stop").touch()

        with ThreadPoolExecutor(1) as beside:
            done = beside.submit(conduct)
            self.run_job(score, self.platform, "--feed", self.feed.name, *options)
            done.result()

    def send(self, service: str | bytes, at: dt.datetime | int, value: int, schema: str | None = None, **more) -> None:
        schema = schema or avro.text("service_use_record", 1)
        schema_id = schemas.register_one(self.registry, avro.subject(self.feed.topic), schema, Level.FULL)
        encoded = io.BytesIO(b"\0" + schema_id.to_bytes(4, "big"))
        encoded.seek(5)
        fastavro.schemaless_writer(encoded, json.loads(schema), {"Timestamp": at, "Value": value} | more)
        key = service.encode() if isinstance(service, str) else service
        topics.produce(self.broker.kafka, self.feed.topic, [(key, encoded.getvalue())], **LARGE)

    def scored(self) -> list[tuple]:
        """(service, value, day type, slot, expected) of each reading, in their order; a reading may be scored twice."""
        schema, found = avro.latest("scored"), {}
        for message in topics.consume(self.broker.kafka, self.feed.scored_topic):
            row = fastavro.schemaless_reader(io.BytesIO(message.value()[5:]), schema)
            found[message.key()] = (row["ServiceName"], row["Value"], row["DayType"], row["Slot"], row["Expected"])
        return list(found.values())

    def awaits(self, *rows: tuple) -> None:
        until("the readings are scored", lambda: len(self.scored()) >= len(rows), 120, self.scored)
        assert self.scored() == list(rows)


@pytest.fixture
def scoring(broker, live_platform, feed, run_job, monkeypatch, own_signals):
    monkeypatch.setattr(score_query, "dt", SimpleNamespace(datetime=Clock, timedelta=dt.timedelta, date=dt.date))
    monkeypatch.setattr(Clock, "at", TUESDAY)
    return Scoring(broker, live_platform, feed, run_job)


@pytest.fixture
def baseline(live_platform, feed) -> None:
    promote(live_platform, feed)


def promote(platform: Platform, feed: Feed) -> None:
    """A baseline of checkout: of day type n, 100 n in each slot."""
    of_day = {"ServiceName": "checkout", "Spread": [1.0] * 24, "Growth": 1.0}
    rows = [of_day | {"DayType": day, "Last4Avg": [100.0 * day] * 24} for day in range(1, 8)]
    arrays = [(name, pa.list_(pa.float64())) for name in ("Last4Avg", "Spread")]
    shape = pa.schema([("ServiceName", pa.string()), ("DayType", pa.int32()), ("Growth", pa.float64()), *arrays])
    table = pa.Table.from_pylist(rows, shape)
    deltalake.write_deltalake(tables.baseline(platform, feed).path, table, partition_by=["DayType"])


def test_the_first_baseline_is_taken_up_at_once_and_scores_what_is_not_committed(scoring):
    def act() -> None:
        scoring.send("checkout", TUESDAY, 1)
        scoring.awaits(("checkout", 1, 2, 23, None))
        promote(scoring.platform, scoring.feed)
        until("the baseline", lambda: scoring.scored() == [("checkout", 1, 2, 23, 200.0)], 60, scoring.scored)

    scoring.while_running(act, "--checkpoint-interval", "600")


def test_a_new_writers_schema_is_learned_while_it_runs_and_no_reading_is_lost(scoring, baseline):
    old = json.loads(avro.text("service_use_record", 1))
    new = json.dumps(old | {"fields": [*old["fields"], {"name": "Region", "type": "string", "default": "here"}]})

    def act() -> None:
        scoring.send("checkout", TUESDAY, 1)
        scoring.awaits(("checkout", 1, 2, 23, 200.0))
        scoring.send("checkout", TUESDAY.replace(hour=9), 2, new, Region="there")
        scoring.send("checkout", TUESDAY.replace(hour=10), 3)
        scoring.awaits(("checkout", 1, 2, 23, 200.0), ("checkout", 2, 2, 9, 200.0), ("checkout", 3, 2, 10, 200.0))

    scoring.while_running(act)
    assert topics.consume(scoring.broker.kafka, scoring.feed.dead_letter_topic) == []


def test_unknown_schema_ids_are_asked_for_once_all_together_and_by_no_later_driver(scoring, baseline, capsys):
    def junk(*ids: int) -> list[tuple[bytes, bytes]]:
        return [(b"checkout", b"\0" + each.to_bytes(4, "big") + b"junk") for each in ids]

    def act(number: int, *ids: int) -> None:
        topics.produce(scoring.broker.kafka, scoring.feed.topic, junk(*ids))
        scoring.send("checkout", TUESDAY.replace(hour=number), number)
        scoring.awaits(*(("checkout", each, 2, each, 200.0) for each in range(1, number + 1)))

    def letters() -> list[tuple[int, int]]:
        """Offset and schema id of each letter."""
        found = [dict(each.headers()) for each in topics.consume(scoring.broker.kafka, scoring.feed.dead_letter_topic)]
        return [(int(each["offset"]), int(each["reason"].decode().removeprefix("unknown schema id "))) for each in found]

    def began() -> None:
        scoring.send("checkout", TUESDAY.replace(hour=1), 1)
        scoring.awaits(("checkout", 1, 2, 1, 200.0))
        act(2, 900_001, 900_002, 900_003, 900_001)

    scoring.while_running(began)
    assert capsys.readouterr().out.count(" is not in the registry") == 3
    assert letters() == (first := [(1, 900_001), (2, 900_002), (3, 900_003), (4, 900_001)]), "each once: it began anew once"
    scoring.while_running(lambda: act(3, 900_003, 900_002))
    assert " is not in the registry" not in capsys.readouterr().out
    assert set(letters()) == set(first) | {(6, 900_003), (7, 900_002)}


def test_a_reading_with_a_new_schema_is_scored_also_while_every_unknown_id_is_refused(scoring, baseline):
    old = json.loads(avro.text("service_use_record", 1))
    new = json.dumps(old | {"fields": [*old["fields"], {"name": "Region", "type": "string", "default": "here"}]})
    garbage = [(b"checkout", b"\0" + (900_000 + each).to_bytes(4, "big") + b"junk") for each in range(MOST_REFUSED + 1)]

    def act() -> None:
        topics.produce(scoring.broker.kafka, scoring.feed.topic, garbage)
        scoring.send("checkout", TUESDAY, 1)
        scoring.awaits(("checkout", 1, 2, 23, 200.0))
        assert scoring.folder.read_refused()[avro.subject(scoring.feed.topic)]["refused"] == [
            900_000 + each for each in range(MOST_REFUSED + 1)
        ]
        scoring.send("checkout", TUESDAY.replace(hour=9), 2, new, Region="there")
        scoring.awaits(("checkout", 1, 2, 23, 200.0), ("checkout", 2, 2, 9, 200.0))
        topics.produce(scoring.broker.kafka, scoring.feed.topic, [(b"checkout", b"\0" + bytes([0, 14, 0, 0]) + b"junk")])
        scoring.send("checkout", TUESDAY.replace(hour=10), 3)
        scoring.awaits(("checkout", 1, 2, 23, 200.0), ("checkout", 2, 2, 9, 200.0), ("checkout", 3, 2, 10, 200.0))

    scoring.while_running(act)


def test_no_record_that_kafka_takes_stops_it(scoring, baseline):
    """The first is a reading, but for its name: a scored record of it would be larger than a producer may send."""
    key, junk = "w" * 1_000_000, b"?" * 1_048_400
    sent = {1: key.encode(), 2: b"checkout", 3: b"check\xff", 4: b"checkout"}

    def act() -> None:
        scoring.send("checkout", TUESDAY, 1)
        scoring.send(key, TUESDAY, 2)
        topics.produce(scoring.broker.kafka, scoring.feed.topic, [(sent[2], junk)], **LARGE)
        scoring.send(sent[3], TUESDAY, 3)
        scoring.send(sent[4], int(TUESDAY.timestamp() * 1_000_000), 3)  # microseconds for milliseconds
        scoring.send("checkout", TUESDAY.replace(hour=9), 4)
        scoring.awaits(("checkout", 1, 2, 23, 200.0), ("checkout", 4, 2, 9, 200.0))

    scoring.while_running(act, "--checkpoint-interval", "600")
    letters = topics.consume(scoring.broker.kafka, scoring.feed.dead_letter_topic)
    found = {int(dict(each.headers())["offset"]): dict(each.headers()) for each in letters}
    assert len(letters) == len(found) == 4, "each once: the query was not planned again"
    assert {offset: headers["key"] for offset, headers in found.items()} == {at: each[:1000] for at, each in sent.items()}
    assert [found[at]["reason"].decode().partition(";")[0] for at in sorted(found)] == [
        "service name of 1000000 bytes",
        "first byte is not the Confluent magic byte 0",
        "service name is not UTF-8 text",
        "Timestamp +58869-10-02 05:13:20 is more than 36500 days ahead of the broker's clock (most_ahead)",
    ]
    assert found[2]["value-sha256"].decode() == hashlib.sha256(junk).hexdigest()
    scoring.run_job(archive, scoring.platform, "--run-id", "run-1", "--feed", scoring.feed.name)
    rows = deltalake.DeltaTable(tables.history(scoring.platform, scoring.feed).path).to_pyarrow_table().to_pylist()
    assert sorted((row["ServiceName"], row["Value"]) for row in rows) == [("checkout", 1), ("checkout", 4)]
    again = topics.consume(scoring.broker.kafka, scoring.feed.dead_letter_topic)[4:]
    assert sorted(int(dict(each.headers())["offset"]) for each in again) == [1, 2, 3, 4]


def test_a_new_day_brings_the_baseline_of_the_day_after_it(scoring, baseline, monkeypatch):
    """A baseline too large to be held whole: only the day types around today are, and these move on at midnight."""
    monkeypatch.setattr(score_query, "BROADCAST_WHOLE", 0)
    thursday = TUESDAY.replace(day=26, hour=0)

    def act() -> None:
        scoring.send("checkout", thursday, 1)
        scoring.awaits(("checkout", 1, 4, 0, None))
        before = read_status(scoring.folder).heartbeat["generation"]
        Clock.at = TUESDAY + dt.timedelta(seconds=10)
        until("a query begun since then", lambda: read_status(scoring.folder).heartbeat["generation"] > before + 1, 120)
        scoring.send("checkout", thursday.replace(hour=1), 2)
        scoring.send("checkout", TUESDAY.replace(hour=9), 3)
        until("all", lambda: len(scoring.scored()) == 3)
        rows = {row[1]: row for row in scoring.scored()}
        assert (rows[2], rows[3]) == (("checkout", 2, 4, 1, 400.0), ("checkout", 3, 2, 9, 200.0))

    scoring.while_running(act, "--checkpoint-interval", "15")


def test_services_that_are_not_named_are_left_out(scoring, baseline):
    def act() -> None:
        for number, service in enumerate(["search", "login", "checkout", "search", "billing"]):
            scoring.send(service, TUESDAY.replace(hour=number), number)
        scoring.awaits(("checkout", 2, 2, 2, 200.0), ("billing", 4, 2, 4, None))

    scoring.while_running(act, "--services", "checkout, billing")
