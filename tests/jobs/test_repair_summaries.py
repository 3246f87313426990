"""Events that come too late for a stream's state are counted in from the archive: summaries and rollups end as if in time."""

import datetime as dt
import uuid
from collections import defaultdict

import pytest

from contracts import avro
from contracts.declared_topics import query_topics
from contracts.queries import Query, load_queries
from jobs import repair_summaries
from jobs.backends import kafka, tables
from jobs.backends.registry import Registry
from jobs.backends.spark import with_state
from jobs.errors import JobError
from jobs.formats import query_records
from stack.deploy import schemas, topics
from tests.jobs.metrics import MINUTE, MetricsTopic, by_window, wrong
from tests.jobs.rides import Reader

pytestmark = pytest.mark.full
LONG_AGO = int(dt.datetime(2021, 3, 28, 0, 50, tzinfo=dt.UTC).timestamp() * 1000)
DAY_AFTER = LONG_AGO + 24 * 60 * MINUTE
WAIT, PROD, TEST = ("environment={}:metric=dbWaitTime".format, "prod", "test")
FIRST = [
    *((WAIT(PROD), f"p{n}", LONG_AGO + n * MINUTE, 10.0 + n) for n in range(9)),
    *((WAIT(TEST), f"t{n}", LONG_AGO + n * MINUTE, 500.0 - n) for n in range(5)),
    (WAIT(PROD), "now", DAY_AFTER, 1.0),
]
LATE = [
    (WAIT(PROD), "p99", LONG_AGO + 30_000, 77.0),
    (WAIT(PROD), "p3", LONG_AGO + 3 * MINUTE, 1313.0),  # corrects
    (WAIT(TEST), None, LONG_AGO - 10 * MINUTE, -4.0),  # of a window that nobody has heard of
]


@pytest.fixture
def metrics(broker, monkeypatch) -> dict[str, Query]:
    """The declared queries of metrics, with topics of their own."""
    suffix = uuid.uuid4().hex[:8]

    def own(query: Query) -> Query:
        inputs = {name: each.model_copy(update={"topic": f"{each.topic}-{suffix}"}) for name, each in query.inputs.items()}
        outputs = tuple(each.model_copy(update={"topic": f"{each.topic}-{suffix}"}) for each in query.outputs)
        few = {"parameters": query.parameters | {"buckets": 2}}
        return query.model_copy(update={"inputs": inputs, "outputs": outputs} | few)

    made = {name: own(query) for name, query in load_queries().items() if query.application == "metrics"}
    monkeypatch.setattr(repair_summaries, "load_queries", lambda folder: made)
    declared = query_topics(made.values())
    topics.deploy(broker.kafka, declared)
    schemas.register(broker.registry, declared)
    return made


class World:
    """The topics of the two queries, and what a stream makes of events that come in time."""

    def __init__(self, spark, run_job, platform, broker, queries: dict[str, Query]):
        self._spark, self._run, self.platform, self._broker = spark, run_job, platform, broker
        self.query, self.rollups = queries["metric-summaries"], queries["metric-rollups"]
        self.late = next(each.topic for each in self.query.outputs if each.record == "late_metric_event")
        self.summaries, self.above = self.query.outputs[0].topic, self.rollups.outputs[0].topic
        self._reader = Reader(broker, self.summaries, self.above)
        self.values: dict[tuple, float] = {}

    def events(self, *events: tuple) -> None:
        MetricsTopic(self._broker, self.query.inputs["metrics"].topic).send(*events)
        self.values |= {(key, id_, at): value for key, id_, at, value in events}

    def streams(self, *queries: Query) -> None:
        """These queries or both, over all that their topics hold."""
        for query in queries or (self.query, self.rollups):
            self._written(query, {alias: self._rows(query, alias) for alias in query.inputs})

    def tell_late(self, *events: tuple) -> None:
        """What the stream makes of events that come too late: records of the other topic."""
        shaped = [(key, id_, dt.datetime.fromtimestamp(at / 1000, dt.UTC), value, None) for key, id_, at, value in events]
        frame = self._spark.createDataFrame(shaped, "Key string, Id string, Timestamp timestamp, Value double, Revision long")
        output = next(each for each in self.query.outputs if each.topic == self.late)
        self._send(query_records.encode(frame, self.query.model_copy(update={"outputs": (output,)}), self._ids(self.query)))

    def tell_late_summary(self, member: str, window: int) -> None:
        """What the stream makes of a summary that comes too late for the rollup of its metric."""
        rollup = f"environment=*:{member.split(':')[1]}"
        shaped = [(rollup, member, dt.datetime.fromtimestamp(window / 1000, dt.UTC), 1)]
        frame = self._spark.createDataFrame(shaped, "Key string, Member string, WindowStart timestamp, Revision long")
        output = next(each for each in self.rollups.outputs if each.record == "late_metric_summary")
        self._send(query_records.encode(frame, self.rollups.model_copy(update={"outputs": (output,)}), self._ids(self.rollups)))

    def repair(self, run_id: str = "run-1") -> None:
        self._run(repair_summaries, self.platform, "--query", self.query.name, "--run-id", run_id)

    def read(self, topic: str) -> dict[tuple, dict]:
        return by_window(self._reader.of(topic, "metric_summary").values())

    def expected(self, name=lambda key: [key]) -> dict[tuple, list[float]]:
        found = defaultdict(list)
        for (key, _, at), value in self.values.items():
            for each in name(key):
                found[each, at // (10 * MINUTE) * 10 * MINUTE].append(value)
        return found

    def _rows(self, query: Query, alias: str):
        source, registry = query.inputs[alias], Registry(self.platform)
        held = kafka.read_ranges(self._spark, self.platform, source.topic, kafka.available(self.platform, source.topic))
        return query_records.decode(held, source, {name: registry.writers(name) for name in query_records.subjects(source)})

    def _written(self, query: Query, decoded: dict) -> None:
        self._send(query_records.records(query, decoded, self._ids(query)))

    def _ids(self, query: Query) -> dict[str, int]:
        registry = Registry(self.platform)
        return {each.topic: registry.id_of(avro.subject(each.topic), avro.schema(each.record)) for each in query.outputs}

    def _send(self, records) -> None:
        records.write.format("kafka").options(**kafka.producer_options(self.platform)).save()


def parents(key: str) -> list[str]:
    environment, metric = key.split(":")
    return [f"environment=*:{metric}", f"{environment}:metric=*"]


@pytest.fixture
def world(spark, run_job, live_platform, broker, metrics) -> World:
    with_state(spark)
    return World(spark, run_job, live_platform, broker, metrics)


def test_late_events_and_corrections_end_as_if_they_had_come_in_time(world, monkeypatch, capsys):
    world.events(*FIRST)
    world.streams()
    assert not wrong(world.read(world.summaries), world.expected())
    world.events(*LATE)
    world.tell_late(*LATE)
    with monkeypatch.context() as patch:
        patch.setattr(tables.Table, "commit_note", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            world.repair()  # killed when all is written, but before it is noted
    capsys.readouterr()
    world.repair("run-2")
    told = capsys.readouterr().out
    assert f"{world.late}: 3 late events to count in" in told
    assert told.count(" 0 rows written again") == 2, "what was written before it was killed is not written again"
    found = world.read(world.summaries)
    assert found.keys() == world.expected().keys()
    assert not wrong(found, world.expected())
    assert {place: row["Revision"] for place, row in found.items()} == {
        (WAIT(PROD), LONG_AGO): 2,
        (WAIT(TEST), LONG_AGO): 1,
        (WAIT(TEST), LONG_AGO - 10 * MINUTE): 1,
        (WAIT(PROD), DAY_AFTER): 1,
    }
    above = world.read(world.above)
    assert above.keys() == world.expected(parents).keys()
    assert not wrong(above, world.expected(parents))
    world.repair("run-3")
    assert f"{world.late}: 0 late events to count in" in capsys.readouterr().out


def test_rollups_that_lack_a_late_summary_are_merged_anew(world, capsys):
    world.events(*FIRST[:9])
    world.streams()
    world.events(*FIRST[9:])
    world.streams(world.query)
    world.tell_late_summary(WAIT(TEST), LONG_AGO)
    before = world.read(world.summaries)
    world.repair()
    told = capsys.readouterr().out
    late = next(each.topic for each in world.rollups.outputs if each.record == "late_metric_summary")
    assert f"{late}: 1 late summaries to count in" in told
    assert f"{world.summaries}: 0 rows written again" in told
    assert world.read(world.summaries) == before
    of_that_window = {place: values for place, values in world.expected(parents).items() if place[1] == LONG_AGO}
    above = world.read(world.above)
    assert above.keys() == of_that_window.keys(), "of the window alone"
    assert not wrong(above, of_that_window)
    revisions = [row["Revision"] for (_, window), row in before.items() if window == LONG_AGO]
    assert above["environment=*:metric=dbWaitTime", LONG_AGO]["Revision"] == sum(revisions)
    world.repair("run-2")
    assert f"{late}: 0 late summaries to count in" in capsys.readouterr().out


def test_a_summary_of_which_the_archive_lacks_events_stays_as_it_is_and_is_named(world, spark, capsys):
    world.events(*FIRST)
    world.streams()
    world.events(*LATE)
    world.tell_late(*LATE)
    events = tables.events(world.platform, world.query.inputs["metrics"].topic)
    world.repair("run-1")
    events.log().delete("MetricKey = 'environment=prod:metric=dbWaitTime' AND Id < 'p5'")
    world.tell_late(LATE[0])
    before = world.read(world.summaries)
    for _ in range(2):  # a retry as well, though nothing is left for it to do
        with pytest.raises(JobError, match=r"fewer events of 1 summaries .*prod:metric=dbWaitTime at 2021-03-28T00:50:00Z"):
            world.repair("run-2")
    assert world.read(world.summaries) == before
    world.repair("run-3")


def test_only_queries_of_summaries_are_repaired(world):
    with pytest.raises(JobError, match="--query nothing: no query with transform: metric_summaries; these are: metric-summaries"):
        world._run(repair_summaries, world.platform, "--query", "nothing", "--run-id", "r")
