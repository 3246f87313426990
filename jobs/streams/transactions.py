"""Exactly once: each batch of a query in one Kafka transaction, with a note of which batch it was.

Before Spark works on a batch it logs its number and where it ends in each input; once all is written, that it is done. After a
crash in between it makes the same batch again. The note, a record of the topic `sundial.commits`, is committed with the batch's
records or not at all: a batch whose note is there is not written again. Readers of committed records see each batch once.

The records go through the driver, a partition of the batch at a time (two while one is computed). Making a query's writer ends
what an earlier one has begun, on any machine: Kafka fences the earlier one, and it can't commit any more.
"""

import json

from confluent_kafka import KafkaError, KafkaException, Producer
from pyspark.sql import DataFrame, Row

from contracts.queries import COMMITS, Query
from jobs.backends import kafka
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.streams.checkpoint import Checkpoint

LONGEST = 900  # seconds that brokers let a transaction be open, unless configured otherwise
SLOWEST = 1000  # records a second for which there is time
PATIENCE = 60.0  # seconds for an earlier transaction to be ended
LARGEST = 1_048_576  # bytes of a record, as of Spark's Kafka sink: a dead letter is larger than the record that it keeps


class Transactions:
    """What writes a query's batches, as Kafka records (topic, key, value, headers)."""

    def __init__(self, platform: Platform, query: Query, checkpoint: Checkpoint):
        """Raises JobError if Kafka does not answer, or not to this user."""
        self._platform, self._query, self._checkpoint = platform, query, checkpoint
        self.failure: JobError | None = None  # why a batch could not be written; Spark reports it within a Python traceback
        self._producer = Producer(platform.credentials.client_options(platform.kafka) | _options(query))
        try:
            self._producer.init_transactions(PATIENCE)
        except KafkaException as error:
            raise self._failed(error) from error
        found = kafka.last_value(platform, COMMITS.name, query.name.encode(), group="sundial-streams", wait=LONGEST)
        self._last: dict | None = json.loads(found) if found else None

    def write(self, records: DataFrame, batch: int) -> None:
        """All of a batch or nothing, and not again what is written; for `foreachBatch`. Raises JobError if it can't be."""
        note = {"checkpoint": self._checkpoint.query_id, "batch": batch, "offsets": self._checkpoint.ends_of(batch)}
        try:
            if self._written(note):
                records.write.format("noop").mode("overwrite").save()  # Spark's state has to take part in every batch
            else:
                self._commit(records, note)
        except JobError as error:
            self.failure = error
            raise

    def close(self) -> None:
        self._producer.close()

    def _written(self, note: dict) -> bool:
        """A new checkpoint has written nothing. Raises JobError if the batch's number is taken by another one's work."""
        last = self._last
        if last is None or last["checkpoint"] != note["checkpoint"] or last["batch"] < note["batch"]:
            return False
        if last == note or note["batch"] == last["batch"] == self._checkpoint.begun.changed:
            return True
        raise JobError(
            f"query {self._query.name}: its checkpoint is older than what it wrote: batch {note['batch']} is about to be made of"
            f" other records than before, and batch {last['batch']} is written; bring back the newer checkpoint, or delete"
            f" {self._checkpoint.folder} to write everything again from the oldest records on"
        )

    def _commit(self, records: DataFrame, note: dict) -> None:
        begun = False
        try:
            for record in records.toLocalIterator(prefetchPartitions=True):
                if not begun:
                    self._producer.begin_transaction()
                    begun = True
                self._send(record)
            if begun:  # a batch without any record has nothing to be repeated
                self._send(Row(topic=COMMITS.name, key=self._query.name.encode(), value=json.dumps(note).encode(), headers=None))
                self._producer.commit_transaction()
        except Exception as error:
            cause = error
            if begun:
                try:
                    self._producer.abort_transaction(PATIENCE)
                except KafkaException as unended:  # what can't be ended now, the next writer ends
                    if isinstance(error, KafkaException) and error.args[0].code() == KafkaError._FATAL:
                        cause = unended  # which says what was fatal
            if isinstance(cause, KafkaException):
                raise self._failed(cause) from error
            raise
        self._last = note if begun else self._last

    def _send(self, record: Row) -> None:
        headers = [(header.key, header.value) for header in record.headers] if record.headers else None
        while True:
            try:
                return self._producer.produce(record.topic, record.value, record.key, headers=headers)
            except BufferError:  # full: wait until some of it is sent
                self._producer.poll(0.1)

    def _failed(self, error: KafkaException) -> JobError:
        cause: KafkaError = error.args[0]
        if cause.code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED):
            return JobError(f"query {self._query.name}: another driver has taken over its transactions, this one is fenced")
        return JobError(f"query {self._query.name}: no transaction with Kafka at {self._platform.kafka}: {cause.str()}")


def _options(query: Query) -> dict[str, str | int]:
    """Of the producer. Keys go to the partitions to which Spark's Kafka sink, a Java client, takes them."""
    open_at_most = min(LONGEST, 60 + query.most_in_all // SLOWEST)
    return {
        "transactional.id": query.transactional_id,
        "transaction.timeout.ms": 1000 * open_at_most,
        "partitioner": "murmur2_random",
        "compression.type": "lz4",
        "message.max.bytes": LARGEST,
        "queue.buffering.max.kbytes": 65_536,
        "log_level": 0,  # what matters is raised
    }
