"""The declared queries of the taxi rides on a real broker: outputs, restarts, late rides, bad bytes, new writers, failure."""

import datetime as dt
import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from contracts import avro
from contracts.declared_topics import query_topics
from contracts.queries import Query, load_queries
from jobs import run_queries, skip_lost
from jobs.errors import JobError
from jobs.streams import feeds_read
from stack.deploy import schemas, topics
from supervision.files import StreamFolder
from tests.jobs.rides import NEW_YORK, Reader, RidesTopic, per_vendor_minute, sample
from tests.support.topics import delete
from tests.support.waiting import until

PATIENCE = 120.0


class Application:
    """Queries with topics of their own, deployed as the declared ones are."""

    def __init__(self, platform, broker, run_job, monkeypatch):
        self.platform, self.broker, self._run_job, self._monkeypatch = platform, broker, run_job, monkeypatch
        self.name = f"app-{uuid.uuid4().hex[:8]}"
        self.heartbeats: list[dict] = []

    def topic(self, name: str) -> str:
        return name.replace("rides", self.name)

    def declare(self, *names: str, overrides: dict[str, dict] | None = None) -> None:
        """The declared queries of these names, with some fields of some of them changed."""
        made = {name: self._own(load_queries()[name].model_copy(update=(overrides or {}).get(name, {}))) for name in names}
        self._monkeypatch.setattr(feeds_read, "load_application", lambda *_: made)
        declared = query_topics(made.values())
        topics.deploy(self.broker.kafka, declared)
        schemas.register(self.broker.registry, declared)
        self.topics = declared
        self.source = RidesTopic(self.broker, self.topic("rides"))
        self.reader = Reader(self.broker, *(topic.name for topic in declared))

    def _own(self, query: Query) -> Query:
        inputs = {a: each.model_copy(update={"topic": self.topic(each.topic)}) for a, each in query.inputs.items()}
        outputs = tuple(each.model_copy(update={"topic": self.topic(each.topic)}) for each in query.outputs)
        return query.model_copy(update={"inputs": inputs, "outputs": outputs})

    def run(self, *steps) -> None:
        """Run the driver until each step in turn has become true, then stop it. A step may act as well."""
        over = threading.Event()

        def conduct() -> None:
            try:
                for number, step in enumerate(steps, 1):
                    until(f"step {number}", lambda step=step: over.is_set() or step(), PATIENCE, self.told)
            finally:
                self.folder.request_stop()

        with ThreadPoolExecutor(1) as beside:
            conducted = beside.submit(conduct)
            try:
                self._run_job(run_queries, self.platform, "--application", self.name)
            finally:
                over.set()
            conducted.result()

    @property
    def folder(self):
        folder = StreamFolder.of(self.platform.streams, self.name, "queries")
        folder.make()
        return folder

    def told(self, query: str | None = None) -> dict:
        heartbeat = self.folder.read_heartbeat()
        return heartbeat.get("queries", {}).get(query, {}) if query else heartbeat

    def rides(self, amount: str) -> dict[bytes, dict]:
        return self.reader.of(self.topic(f"rides.{amount}"), "taxi_ride")

    def minutes(self) -> dict[tuple, tuple]:
        return self.reader.minutes(self.topic("rides.per-vendor-minute"))

    def dead_letters(self) -> list[tuple[bytes, bytes]]:
        letters = [m for m in self.reader.look() if m.topic() == self.topic("rides.dead-letter")]
        return [(message.value(), dict(message.headers())["reason"]) for message in letters]

    def records(self, topic: str) -> int:
        return sum(message.topic() == self.topic(topic) for message in self.reader.look())


@pytest.fixture
def application(live_platform, broker, run_job, monkeypatch, own_signals):
    return Application(live_platform, broker, run_job, monkeypatch)


@pytest.mark.full
def test_both_queries_read_the_sample_and_go_on_after_a_restart_without_loss_or_doubling(application):
    application.declare("rides-by-amount", "rides-per-vendor-minute")
    rides = sample()
    low = sum(ride["total_amount"] < 40 for ride in rides)
    application.source.send(*rides[:150], b"\x00garbage", b"junk")
    application.run(
        lambda: application.minutes() == per_vendor_minute(rides[:150]),
        lambda: len(application.dead_letters()) == 4,
        lambda: application.told()["health"]["dead_letters"] == 4,
    )
    assert set(application.dead_letters()) == {
        (b"\x00garbage", b"unknown schema id 1734439522"),
        (b"junk", b"value too short for the Confluent wire format"),
    }
    before = application.records("rides.low-amount")  # more than rides: the batch in which an unknown id turned up came twice
    application.source.send(*rides[150:])
    application.run(
        lambda: application.minutes() == per_vendor_minute(rides),
        lambda: len(application.rides("low-amount")) + len(application.rides("high-amount")) == len(rides),
    )
    assert (len(application.rides("low-amount")), len(application.rides("high-amount"))) == (low, len(rides) - low)
    assert application.records("rides.low-amount") - before == sum(ride["total_amount"] < 40 for ride in rides[150:])
    assert application.records("rides.dead-letter") == 4
    assert {row["total_amount"] < 40 for row in application.rides("low-amount").values()} == {True}
    assert application.told("rides-by-amount")["late_rows"] == 0


@pytest.mark.full
def test_a_topic_that_was_made_anew_stops_its_query_until_a_person_says_so(application, run_job, monkeypatch, capsys):
    application.declare("rides-per-vendor-minute")
    rides, name, skip = sample(), application.name, ("--application", application.name, "--run-id", "skip-1")
    application.source.send(*rides[:150])
    application.run(lambda: application.minutes() == per_vendor_minute(rides[:150]))
    delete(application.broker.kafka, application.topic("rides"))
    topics.deploy(application.broker.kafka, application.topics)
    application.source.send(*rides[150:])
    lost = f"topic {application.topic('rides')} was deleted and made anew: what was not read of the old one is lost"
    with pytest.raises(JobError, match=f"^{lost}; `sundial queries skip-lost rides` goes on with what is there$"):
        run_job(run_queries, application.platform, "--application", name)
    monkeypatch.setattr(skip_lost, "load_application", feeds_read.load_application)
    run_job(skip_lost, application.platform, *skip)
    assert capsys.readouterr().out.splitlines()[-1] == f"query rides-per-vendor-minute: {lost}"
    application.run(lambda: application.minutes() == per_vendor_minute(rides))
    run_job(skip_lost, application.platform, *skip)
    assert capsys.readouterr().out.splitlines()[-1] == f"{name}: nothing is lost, nothing was changed"


def ride(minute: int, total: float = 10.0) -> dict:
    at = dt.datetime(2020, 7, 1, 12) + dt.timedelta(minutes=minute)
    return sample()[0] | {"VendorID": 1, "tpep_pickup_datetime": at, "total_amount": total}


def cents(*minutes: tuple[int, int, int]) -> dict[tuple, tuple]:
    noon = dt.datetime(2020, 7, 1, 12) - NEW_YORK
    return {(1, noon + dt.timedelta(minutes=minute)): (rides, amount) for minute, rides, amount in minutes}


@pytest.mark.full
def test_a_late_ride_changes_its_window_within_the_lateness_and_is_counted_beyond_it(application):
    application.declare("rides-per-vendor-minute")
    name = "rides-per-vendor-minute"
    application.source.send(ride(0), ride(70))
    application.run(
        lambda: application.told(name).get("watermark") == "2020-07-01T16:10:00.000Z",
        lambda: application.source.send(ride(11, 2.5), ride(11, 2.5), ride(5)) or True,
        lambda: application.told(name).get("late_rows") == 1 and (1, NOON_11) in application.minutes(),
    )
    assert application.minutes() == cents((0, 1, 1000), (70, 1, 1000), (11, 2, 500))


NOON_11 = dt.datetime(2020, 7, 1, 16, 11)


@pytest.mark.full
def test_a_query_may_begin_with_what_comes_and_be_content_with_the_leader(application):
    new = load_queries()["rides-by-amount"].inputs["rides"].model_copy(update={"begin": "latest"})
    application.declare("rides-by-amount", overrides={"rides-by-amount": {"inputs": {"rides": new}, "acks": 1}})
    application.source.send(ride(0, 1.0))
    application.run(
        lambda: application.told().get("state") == "running",
        lambda: application.source.send(ride(1, 2.0)) or True,
        lambda: application.rides("low-amount"),
    )
    assert [row["total_amount"] for row in application.rides("low-amount").values()] == [2.0]
    application.source.send(ride(2, 3.0))  # while nobody reads: the checkpoint has the place by now
    application.run(lambda: len(application.rides("low-amount")) == 2)
    assert [row["total_amount"] for row in application.rides("low-amount").values()] == [2.0, 3.0]


def grown() -> str:
    contract = avro.latest("taxi_ride")
    return json.dumps(contract | {"fields": [{"name": "app", "type": "string", "default": ""}, *contract["fields"]]})


@pytest.mark.full
def test_a_new_version_of_the_writers_schema_plans_its_query_anew_and_no_other_and_loses_nothing(application, broker):
    other = load_queries()["rides-per-vendor-minute"].inputs["rides"].model_copy(update={"topic": "rides.other"})
    application.declare(
        "rides-by-amount", "rides-per-vendor-minute", overrides={"rides-per-vendor-minute": {"inputs": {"rides": other}}}
    )
    rides, started = sample()[:4], {}
    application.source.send(*rides[:2])
    subject = avro.subject(application.topic("rides"))

    def register() -> bool:
        return bool(SchemaRegistryClient({"url": broker.registry}).register_schema(subject, Schema(grown(), "AVRO")))

    def both_started() -> bool:
        started.update({name: told["started_at"] for name, told in application.told().get("queries", {}).items()})
        return len(started) == 2

    application.run(
        lambda: application.records("rides.low-amount") == 2,
        both_started,
        register,
        lambda: application.source.send(*(each | {"app": "x"} for each in rides[2:])) or True,
        lambda: len(application.rides("low-amount")) == 4,
    )
    assert application.dead_letters() == []
    assert sorted(row["total_amount"] for row in application.rides("low-amount").values()) == sorted(
        each["total_amount"] for each in rides
    )
    again = {name for name, at in started.items() if application.told(name)["started_at"] != at}
    assert again == {"rides-by-amount"}


@pytest.mark.full
def test_a_query_that_fails_for_good_ends_the_driver_with_its_name_and_error(application):
    sql = "SELECT *, if(total_amount = 13, raise_error('thirteen'), 'k') AS Ride FROM rides"
    application.declare("rides-by-amount", overrides={"rides-by-amount": {"sql": sql}})
    application.source.send(ride(0, 13.0))
    with pytest.raises(JobError, match=r"(?s)query rides-by-amount failed: .*thirteen") as error:
        application.run(lambda: False)
    assert "thirteen" in application.told()["last_error"]
    assert "Project [" not in str(error.value)  # of Spark's plan
