"""A batch and its note in one transaction: once whoever repeats it, nothing of what fails, and one writer at a time."""

import json
import os
import uuid
from pathlib import Path
from types import SimpleNamespace

import pytest
from confluent_kafka import Message, Producer
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from contracts.queries import COMMITS, Query
from jobs.backends import kafka
from jobs.errors import JobError
from jobs.formats import dead_letters
from jobs.formats.dead_letters import MOST_BYTES
from jobs.streams.checkpoint import Begun, Checkpoint
from jobs.streams.transactions import Transactions
from stack.deploy import topics
from tests.jobs.rides import Reader
from tests.support.topics import ends
from tests.support.waiting import until

RECORDS = "topic string, key binary, value binary, headers array<struct<key: string, value: binary>>"


class Written:
    """A query that is delivered exactly once, its topic, and its checkpoint as Spark has it."""

    def __init__(self, spark, platform, broker, folder: Path):
        self._spark, self._platform, self._kafka, self.checkpoint = spark, platform, broker.kafka, folder
        name = f"once-{uuid.uuid4().hex[:8]}"
        source, output = {"topic": f"{name}.in", "record": "fare"}, {"topic": name, "record": "fare", "key": "VendorID"}
        output |= {"partitions": 4, "compacted": False}
        said = {"inputs": {"fares": source}, "sql": "SELECT * FROM fares", "outputs": [output]}
        self.query = Query(name=name, description="of the test", delivery="exactly-once", **said)
        self.topic = name
        topics.deploy(broker.kafka, [*(each.declared_topic for each in self.query.outputs), COMMITS])
        self.reader = Reader(broker, self.topic)
        self.begin_anew()

    def begin_anew(self) -> None:
        (self.checkpoint / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}))

    def writer(self) -> Transactions:
        return Transactions(self._platform, self.query, Checkpoint(self.checkpoint))

    def plan(self, batch: int, end: int) -> int:
        """As Spark logs a batch before it works on it."""
        (self.checkpoint / "offsets").mkdir(exist_ok=True)
        source = json.dumps({f"{self.topic}.in": {"0": end}})
        (self.checkpoint / "offsets" / str(batch)).write_text(f'v1\n{{"batchTimestampMs":1}}\n{source}\n')
        return batch

    def records(self, *values: str | None, headers: list | None = None) -> DataFrame:
        """One for each value, with the value as key; two partitions."""
        rows = [(self.topic, bytearray(f"{v}".encode()), v and bytearray(v.encode()), headers) for v in values]
        return self._spark.createDataFrame(rows, RECORDS).repartitionByRange(2, F.col("key"))

    def seen(self) -> list[Message]:
        """What those see who read what is committed, by its key."""
        until("no transaction is open", lambda: ends(self._kafka, self.topic) == ends(self._kafka, self.topic, committed=True))
        return sorted(self.reader.look(), key=lambda message: message.key())

    def values(self) -> list[str]:
        return [message.value().decode() for message in self.seen()]


@pytest.fixture
def written(spark, live_platform, broker, tmp_path) -> Written:
    return Written(spark, live_platform, broker, tmp_path)


def test_a_batch_is_written_once_by_whoever_repeats_it_and_again_by_a_new_checkpoint(written):
    written.writer().write(written.records("a", "b"), written.plan(0, end=2))
    written.writer().write(written.records("a", "b"), 0)
    assert written.values() == ["a", "b"]
    successor = written.writer()
    successor.write(written.records("a", "b"), 0)
    successor.write(written.records("c"), written.plan(1, end=3))
    assert written.values() == ["a", "b", "c"]
    written.begin_anew()
    written.writer().write(written.records("a", "b"), 0)
    assert written.values() == ["a", "a", "b", "b", "c"]


@pytest.mark.full
def test_a_batch_that_is_made_again_of_other_topics_is_not_written_again(written):
    """It was written, and before Spark logged that, a topic came or went."""
    written.writer().write(written.records("a", "b"), written.plan(3, end=2))
    written.plan(3, end=1)
    with pytest.raises(JobError, match="its checkpoint is older than what it wrote"):
        written.writer().write(written.records("a"), 3)
    Checkpoint(written.checkpoint).note_begun(Begun({"b": "how"}, changed=3))
    written.writer().write(written.records("a"), 3)
    written.writer().write(written.records("c"), written.plan(4, end=3))
    assert written.values() == ["a", "b", "c"]


@pytest.mark.full
def test_state_takes_part_in_a_batch_that_is_not_written_again(written, spark):
    written.writer().write(written.records("a", "b"), written.plan(0, end=2))
    computed = spark.sparkContext.accumulator(0)
    again = written.records("a", "b").rdd.map(lambda row: (computed.add(1), row)[1])
    written.writer().write(spark.createDataFrame(again, RECORDS), 0)
    assert (computed.value, written.values()) == (2, ["a", "b"])


@pytest.mark.full
def test_records_are_as_sparks_kafka_sink_writes_them(written, live_platform):
    names = [f"key-{number}" for number in range(40)]
    batch = written.records(*names, headers=[("reason", bytearray(b"\x00\xff")), ("none", None)])
    written.writer().write(batch.unionByName(written.records(None)), written.plan(0, end=41))

    def told() -> list[tuple]:
        return sorted((m.key(), m.value() or b"null", m.partition(), m.headers()) for m in written.seen()[-41:])

    ours = told()
    written.reader.messages.clear()
    batch.unionByName(written.records(None)).write.format("kafka").options(**kafka.producer_options(live_platform)).save()
    assert len(ours) == 41
    assert ours == told()
    assert len({partition for _, _, partition, _ in ours}) == 4


@pytest.mark.full
def test_of_a_batch_that_fails_nothing_is_seen_and_it_can_be_repeated(written):
    writer = written.writer()
    wrong = F.when(F.col("key") == b"c", F.raise_error(F.lit("thirteen"))).otherwise(F.col("value"))
    with pytest.raises(Exception, match="thirteen"):
        writer.write(written.records("a", "b", "c").withColumn("value", wrong.cast("binary")), written.plan(0, end=3))
    assert written.values() == []
    with pytest.raises(JobError, match=rf"query {written.topic}: no transaction with Kafka at .*too large"):
        writer.write(written.records("a", "b", "x" * 2_000_000), 0)
    assert written.values() == []
    writer.write(written.records("a", "b", "c"), 0)
    assert written.values() == ["a", "b", "c"]


@pytest.mark.full
def test_the_largest_row_and_the_largest_dead_letter_are_records_of_a_transaction(written, spark):
    """Random bytes, so that compression does not make them smaller."""
    key, value = b"k" * 10, os.urandom(MOST_BYTES - 10)
    columns = "Error string, Key binary, Bytes binary, KafkaPartition int, KafkaOffset long"
    bad = spark.createDataFrame([("wrong", bytearray(key), bytearray(value), 3, 14)], columns)
    letter = bad.select(*dead_letters.letter(written.topic)).withColumn("topic", F.lit(written.topic))
    row = spark.createDataFrame([(written.topic, bytearray(key), bytearray(value), None)], RECORDS)
    written.writer().write(row.unionByName(letter), written.plan(0, end=2))
    assert [(message.key(), message.value() == value) for message in written.seen()] == [
        (key, True),
        (f"{written.topic}-3-14".encode(), True),
    ]


def test_a_driver_that_was_taken_for_dead_can_not_commit_what_it_has_begun(written):
    """Its successor comes while the zombie is in the middle of the batch, which is then written by the successor."""
    zombie, batch = written.writer(), written.plan(0, end=2)

    def slowly(prefetchPartitions: bool):
        for value in (b"a", b"b"):
            yield Row(topic=written.topic, key=value, value=value, headers=None)
        assert zombie._producer.flush(30) == 0
        written.writer().write(written.records("a", "b"), batch)

    with pytest.raises(JobError, match=f"query {written.topic}: another driver has taken over its transactions"):
        zombie.write(SimpleNamespace(toLocalIterator=slowly), batch)
    assert written.values() == ["a", "b"]


@pytest.mark.full
def test_a_driver_that_was_taken_for_dead_can_not_begin_again_either(written):
    zombie, successor = written.writer(), written.writer()
    with pytest.raises(JobError, match="another driver has taken over"):
        zombie.write(written.records("a"), written.plan(0, end=1))
    successor.write(written.records("a"), 0)
    assert written.values() == ["a"]


@pytest.mark.full
def test_a_checkpoint_that_is_older_than_the_output_is_refused(written):
    """Restored from a copy, say: Spark plans batches of the same numbers anew, and nobody knows which of it is written."""
    for batch in range(3):
        written.writer().write(written.records(f"{batch}"), written.plan(batch, end=batch))
    with pytest.raises(JobError, match=r"its checkpoint is older .* batch 1 .* batch 2 is written"):
        written.writer().write(written.records("1"), written.plan(1, end=1))
    with pytest.raises(JobError, match=r"its checkpoint is older .* batch 2 is about to be made of other records"):
        written.writer().write(written.records("2", "3"), written.plan(2, end=3))
    assert written.values() == ["0", "1", "2"]


@pytest.mark.full
def test_a_note_behind_anothers_open_transaction_is_waited_for(written, broker, live_platform):
    other = Producer({"bootstrap.servers": broker.kafka, "transactional.id": f"other-{written.topic}", "log_level": 0})
    other.init_transactions(30)
    other.begin_transaction()
    other.produce(COMMITS.name, b"{}", b"other")
    assert other.flush(30) == 0
    writer = Producer({"bootstrap.servers": broker.kafka})
    writer.produce(COMMITS.name, b"1", b"mine")
    assert writer.flush(30) == 0
    with pytest.raises(JobError, match=r"topic sundial\.commits: could not be read to its end within 2 s"):
        kafka.last_value(live_platform, COMMITS.name, b"mine", group="test", wait=2)
    other.abort_transaction(30)
    assert kafka.last_value(live_platform, COMMITS.name, b"mine", group="test", wait=30) == b"1"
    assert kafka.last_value(live_platform, COMMITS.name, b"other", group="test", wait=30) is None


def test_batches_and_lags_end_where_a_transaction_is_open_and_leave_out_what_was_aborted(written, spark, broker, live_platform):
    producer = Producer({"bootstrap.servers": broker.kafka, "transactional.id": f"open-{written.topic}", "log_level": 0})
    producer.init_transactions(30)
    for value, end in (("a", producer.commit_transaction), ("b", producer.abort_transaction), ("c", lambda: producer.flush(30))):
        producer.begin_transaction()
        producer.produce(written.topic, value, partition=0)
        producer.flush(30)
        end()
    ranges = kafka.available(live_platform, written.topic)
    assert ranges[0] == kafka.Range(0, 4), "a record and the transaction's end, twice"
    found = kafka.read_ranges(spark, live_platform, written.topic, ranges).collect()
    assert [(row.value, row.offset) for row in found] == [(b"a", 0)]
    assert kafka.Ends(live_platform, [written.topic]).now()[written.topic][0] == 4
    assert kafka.Ends(live_platform, [written.topic], committed=False).now()[written.topic][0] == 5
    producer.abort_transaction(30)
