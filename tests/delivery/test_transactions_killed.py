"""A broker dies in the middle of a batch's transaction: the one that coordinates it, the one that keeps its records, or one that
is both. For readers of what is committed, each batch is there once."""

import json
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from pyspark.sql import Row

from contracts.kafka_credentials import PLAIN
from contracts.queries import COMMITS, Query
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.streams.checkpoint import Checkpoint
from jobs.streams.transactions import Transactions
from stack.deploy.cluster import replication
from stack.deploy.topics import deploy
from tests.delivery.cluster import ALL, Cluster
from tests.support import topics
from tests.support.waiting import until

pytestmark = [pytest.mark.kill, pytest.mark.timeout(900)]

STATES = (
    "__transaction_state"  # where Kafka's coordinators keep transactions; who leads a partition coordinates those that it has
)
ROWS = 200
BATCHES = 4


class Stream:
    """A query that is delivered exactly once, as its driver runs it; where the driver would end with an error, another begins."""

    def __init__(self, cluster: Cluster, name: str, topic: str, folder: Path):
        self._cluster, self.topic, self._folder = cluster, topic, folder
        deploy(cluster.instance.kafka, [COMMITS], replication(cluster.instance.kafka, PLAIN))
        declared = {"inputs": {"fares": {"topic": f"{topic}.in", "record": "fare"}}, "sql": "SELECT * FROM fares"}
        outputs = [{"topic": topic, "record": "fare", "key": "VendorID", "compacted": False}]
        self._query = Query(name=name, description="of the test", delivery="exactly-once", outputs=outputs, **declared)
        (folder / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}))
        (folder / "offsets").mkdir()
        self._writer: Transactions | None = None

    def write(self, batch: int, in_the_middle: Callable[[], None] = lambda: None) -> None:
        """Make a batch until it is made; `in_the_middle` is called once, when half of its first try is at the broker."""
        ends = json.dumps({f"{self.topic}.in": {"0": ROWS * (batch + 1)}})
        (self._folder / "offsets" / str(batch)).write_text(f'v1\n{{"batchTimestampMs":1}}\n{ends}\n')
        acts = [in_the_middle]

        def rows(prefetchPartitions: bool):
            for number, value in enumerate(values(batch)):
                if number == ROWS // 2 and acts:
                    assert self._writer._producer.flush(60) == 0
                    acts.pop()()
                yield Row(topic=self.topic, key=b"1", value=value.encode(), headers=None)

        def written() -> bool:
            try:
                self._writer = self._writer or self._begun()
                self._writer.write(MagicMock(toLocalIterator=rows), batch)
            except JobError as error:
                print(f"batch {batch}: {error}")
                self._writer = None
                return False
            return True

        until(f"batch {batch} is written", written, 300)

    def _begun(self) -> Transactions:
        nowhere = "http://127.0.0.1:1"
        platform = Platform(self._cluster.instance.kafka, nowhere, lake=nowhere, streams=nowhere, jars=nowhere)
        return Transactions(platform, self._query, Checkpoint(self._folder))


def values(batch: int) -> list[str]:
    return [f"{batch}-{number}" for number in range(ROWS)]


def coordinator(cluster: Cluster, transactional_id: str) -> int:
    """The broker that coordinates transactions of this id: Kafka keeps them in the partition that the hash of the id names."""
    partitions = cluster.partitions(STATES)
    return partitions[abs(java_hash(transactional_id)) % len(partitions)].leader


def java_hash(text: str) -> int:
    """String.hashCode of Java."""
    found = 0
    for letter in text:
        found = (31 * found + ord(letter)) % 2**32
    return found - 2**32 if found >= 2**31 else found


@pytest.fixture
def transactional_id(cluster) -> str:
    """A new one. Kafka has written to the partition, and to no other, in which `coordinator` expects it."""
    cluster.producer(**ALL, **{"transactional.id": "makes the topic"}).init_transactions(60)
    made = f"sundial.once-{uuid.uuid4().hex[:8]}"
    before = topics.ends(cluster.instance.kafka, STATES)
    cluster.producer(**ALL, **{"transactional.id": made}).init_transactions(60)
    after = topics.ends(cluster.instance.kafka, STATES)
    assert abs(java_hash(made)) % len(after) in {number for number in after if after[number] > before[number]}
    return made


@pytest.mark.parametrize("victim", ["the coordinator", "the leader", "both at once"])
def test_each_batch_is_there_once_when_a_broker_dies_within_its_transaction(cluster, transactional_id, tmp_path, victim):
    coordinates = coordinator(cluster, transactional_id)
    leads = coordinates if victim == "both at once" else coordinates % 3 + 1
    dies = leads if victim == "the leader" else coordinates
    stream = Stream(cluster, transactional_id.removeprefix("sundial."), cluster.topic(leader=leads), tmp_path)
    stream.write(0)
    until("the first batch is shown", lambda: cluster.values(stream.topic) == values(0))
    with ExitStack() as away:

        def die() -> None:
            assert cluster.values(stream.topic, committed=False) == values(0) + values(1)[: ROWS // 2]
            assert cluster.values(stream.topic) == values(0), "the transaction is open"
            assert (coordinator(cluster, transactional_id), cluster.leader(stream.topic)) == (coordinates, leads)
            away.enter_context(cluster.without(dies))

        stream.write(1, in_the_middle=die)
        stream.write(2)
        until("others have its roles", lambda: dies not in {coordinator(cluster, transactional_id), cluster.leader(stream.topic)})
    stream.write(3)
    expected = [value for batch in range(BATCHES) for value in values(batch)]
    until("every batch is shown", lambda: len(cluster.values(stream.topic)) >= len(expected))
    assert cluster.values(stream.topic) == expected
