"""A query's table at a past offset is what the log up to there leaves, or a clear reason why there is none."""

import datetime as dt
import json
import time
import uuid

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from contracts.declared_topics import query_topics
from contracts.queries import load_query
from jobs import query_table
from jobs.errors import JobError
from stack.deploy import topics
from tests.jobs.events import Events, products, sample

LOG = sample("product_changes")


class Tables:
    """The query `products` on topics of its own, whose log has two partitions. moments: one just before each change."""

    def __init__(self, broker, platform, run_job, monkeypatch, capsys):
        self._platform, self._run_job, self._capsys = platform, run_job, capsys
        self.log = f"changes-{uuid.uuid4().hex[:8]}"
        declared = load_query("products")
        source = declared.inputs["changes"].model_copy(update={"topic": self.log, "partitions": 2})
        [output] = declared.outputs
        table = output.model_copy(update={"topic": f"{self.log}.table"})
        self.query = declared.model_copy(update={"inputs": {"changes": source}, "outputs": (table,)})
        monkeypatch.setattr(query_table, "load_query", lambda *_: self.query)
        topics.deploy(broker.kafka, query_topics([self.query]))
        writer, self.moments = Events(broker), []
        for change in LOG:
            self.moments.append(dt.datetime.now(dt.UTC))
            time.sleep(0.01)  # Kafka's time has milliseconds
            writer.send(self.log, change, partition=partition(change[0]))
            time.sleep(0.01)
        self.kafka = broker.kafka

    def __call__(self, *options: str) -> dict[str, dict]:
        self._capsys.readouterr()
        self._run_job(query_table, self._platform, "--query", "products", *options)
        rows = [json.loads(line) for line in self._capsys.readouterr().out.splitlines()]
        assert {row["topic"] for row in rows} <= {f"{self.log}.table"}
        return {row["key"]: row["value"] for row in rows}


@pytest.fixture
def tables(broker, live_platform, run_job, monkeypatch, capsys) -> Tables:
    return Tables(broker, live_platform, run_job, monkeypatch, capsys)


def partition(product: str) -> int:
    return 0 if product in ("lamp", "desk") else 1


@pytest.mark.full
def test_the_table_is_that_of_the_log_up_to_there(tables):
    assert tables() == products(LOG)
    for count in (0, 5, 6):
        assert tables("--at", tables.moments[count].isoformat()) == products(LOG[:count])
    of = [[change for change in LOG if partition(change[0]) == number] for number in (0, 1)]
    for first, second in ((len(of[0]), 0), (2, len(of[1])), (4, 1)):
        assert tables("--until", f"0:{first},1:{second}") == products(of[0][:first]) | products(of[1][:second])


@pytest.mark.full
def test_what_the_log_does_not_hold_is_said(tables):
    ends = [sum(partition(product) == number for product, _ in LOG) for number in (0, 1)]
    for options, said in {
        ("--until", f"0:99,1:{ends[1]}"): f"topic {tables.log}, partition 0: offset 99 is beyond its end, which is {ends[0]}",
        ("--until", "0:1"): f"must name each partition of {tables.log}.*--until 0:{ends[0]},1:{ends[1]}",
        ("--until", "0:1,1:1,2:1"): "must name each partition",
        ("--at", "2999-01-01"): "--at 2999-01-01T00:00:00.00:00 is yet to come",
    }.items():
        with pytest.raises(JobError, match=said):
            tables(*options)
    admin = AdminClient({"bootstrap.servers": tables.kafka})
    [deleted] = admin.delete_records([TopicPartition(tables.log, 0, 2)]).values()
    deleted.result(timeout=30)
    with pytest.raises(JobError, match="partition 0: offsets 0 to 1 were deleted, without which there is no table"):
        tables("--until", f"0:3,1:{ends[1]}")


def test_a_query_without_a_table_or_without_a_past_is_refused(tables):
    query = tables.query
    tables.query = query.model_copy(update={"outputs": (query.outputs[0].model_copy(update={"compacted": False}),)})
    with pytest.raises(JobError, match="query products writes no table"):
        tables()
    now = {"changes": query.inputs["changes"].model_copy(update={"time": "processing"})}
    tables.query = query.model_copy(update={"inputs": now})
    with pytest.raises(JobError, match=r"can't be run again: inputs\.changes has processing time"):
        tables()


@pytest.mark.parametrize("until", ["", "57", "0:", "0:-1", "0:1;1:2", "0:1,"])
def test_what_is_no_list_of_offsets_is_refused(tables, until, capsys):
    with pytest.raises(SystemExit):
        tables("--until", until)
    assert "no list of PARTITION:OFFSET like 0:57,1:40" in capsys.readouterr().err
