"""One declared query as a micro-batch query of a Spark driver: planned, watched, planned again with a new schema, stopped."""

import time
from collections.abc import Callable

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from contracts import avro
from contracts.queries import Query
from contracts.query_io import TOGETHER, Input, Output
from jobs.backends import kafka, spark
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.formats import query_records, together, wire
from jobs.formats.known_rows import KnownRows
from jobs.formats.wire import Writers
from jobs.streams import feeds_read, topics_read
from jobs.streams.checkpoint import Checkpoint
from jobs.streams.driver import message_of, now
from jobs.streams.known_writers import KnownWriters
from jobs.streams.lag_and_rates import BatchesBacklog
from jobs.streams.transactions import Transactions

BATCH_WAIT = 10.0  # seconds that a batch which is being worked on has to end before it is interrupted
NO_WORKER = "Python worker failed to connect back"  # Spark, when the process did not begin within its fixed ten seconds
STARTS = 5  # of a query in a row, as long as only the machine is too busy for that process


class RunningQuery:
    """One query, from its first plan on. planning: called before it is planned again, which may take a while."""

    def __init__(
        self,
        session: SparkSession,
        platform: Platform,
        known: KnownWriters,
        query: Query,
        checkpoint: Checkpoint,
        planning: Callable[[], None],
    ):
        self.name = query.name
        self._session, self._platform, self._known = session, platform, known
        self._declared, self._checkpoint, self._planning = query, checkpoint, planning
        self._writers = {name: known.of(name) for each in query.inputs.values() for name in query_records.subjects(each)}
        self._started_at, self._seen, self._late = now(), -1, 0
        self._starts = 0  # without a batch since
        self._query: StreamingQuery | None = None
        self._transactions: Transactions | None = None  # of a query that is delivered exactly once
        self._known_before: KnownRows | None = None  # of a query that begins with what nights knew
        self._topics = topics_read.of_query(platform, query, checkpoint)
        self._backlog = BatchesBacklog({each.topic for each in query.inputs.values()}, self._checkpoint)
        self._health: dict = {}

    def begin(self) -> None:
        """Before it is planned for the first time. Raises JobError where it can't go on in its topics as they are now."""
        if self._declared.begins_with:
            self._known_before = feeds_read.begin(self._platform, self._declared, self._checkpoint)
        self._topics.begin()

    def start(self) -> None:
        """Plan with the writers' schemas as they are known now, and go on from the checkpoint."""
        self._started_at, self._seen, self._starts = now(), -1, self._starts + 1
        print(f"query {self.name} started at {self._started_at}", flush=True)
        self._checkpoint.clear_unplanned()
        if self._declared.transform and not any(each.lateness for each in self._declared.inputs.values()):
            self._checkpoint.plan_without_records(round(time.time() * 1000))  # it may have timers of the machine's clock
        self._query = (
            self._written(self._records().writeStream)
            .queryName(self.name)
            .outputMode(self._declared.mode)
            .option("checkpointLocation", str(self._checkpoint.folder))
            .trigger(processingTime=self._declared.trigger)
            .start()
        )

    def look(self, well: bool) -> None:
        """Plan again where there is a reason to. well: ask registry and broker, too. Raises JobError when the query has failed
        and planning again does not help, or when one of its topics was made anew.
        """
        self._count_late()
        if not self._query.isActive:
            writers = self._writers_after(self._query.exception())
            self._planning()
            self._plan_again_with(writers)
        elif well:
            self._topics.look()
            renewed = {name: self._known.renewed(writers) for name, writers in self._writers.items()}
            if renewed != self._writers:
                self._planning()
                self._plan_again_with(renewed)

    @property
    def state(self) -> str:
        """`running` once it has fixed where it begins, or has looked and found nothing."""
        return "running" if self._checkpoint.has_batches or self._query.lastProgress else "starting"

    def figures(self) -> dict:
        """For the heartbeat. late_rows: since the driver's start; other figures: of the last batch, null before the first."""
        last = self._query.lastProgress
        return {
            "started_at": self._started_at,
            "batch_id": last and last.batchId,
            "batch_seconds": last and round(last.batchDuration / 1000, 3),
            "watermark": last and last.eventTime.get("watermark"),
            "state_rows": last and sum(operator.numRowsTotal for operator in last.stateOperators),
            "late_rows": self._late,
            **self._health,
        }

    def measured(self, ends: dict[str, dict[int, int]]) -> dict:
        """How far it is behind its topics, see `BatchesBacklog.measure`; also for the figures of the heartbeats that follow."""
        self._health = self._backlog.measure(ends)
        return self._health

    def stop(self, deadline: float) -> None:
        """Between two batches if there is a pause before the deadline (of time.monotonic); else its batch is interrupted, and
        repeated after a restart."""
        if self._query is None:
            return
        while self._query.isActive and self._query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(0.02)
        self._query.stop()
        if self._transactions:
            self._transactions.close()

    def _written(self, records: DataStreamWriter) -> DataStreamWriter:
        if not self._declared.exactly_once:
            return records.format("kafka").options(**kafka.producer_options(self._platform, self._declared.acks))
        self._transactions = Transactions(self._platform, self._declared, self._checkpoint)
        return records.foreachBatch(self._transactions.write)

    def _records(self) -> DataFrame:
        session = spark.with_state(self._session.newSession())  # of its own: two queries may call their inputs alike
        in_avro = [each for each in self._declared.outputs if each.encoding == "avro"]
        ids = {each.topic: self._schema_id(each) for each in in_avro}
        if self._known_before:
            read = together.decode(self._read_all(session), self._declared.inputs, self._writers)
            found = query_records.result(self._declared, {TOGETHER: read}, self._known_before)
            return query_records.encode(found, self._declared, ids)
        decoded = {
            alias: query_records.decode(self._read(session, each), each, self._writers)
            for alias, each in self._declared.inputs.items()
        }
        looked_up = {
            alias: query_records.decode(kafka.read_whole(session, self._platform, each.topic), each, self._writers)
            for alias, each in self._declared.looked_up.items()
        }
        return query_records.records(self._declared, decoded, ids, looked_up)

    def _schema_id(self, output: Output) -> int:
        return self._known.registry.id_of(avro.subject(output.topic), avro.schema(output.record, output.version))

    def _read(self, session: SparkSession, source: Input) -> DataFrame:
        most = self._declared.most_per_batch
        return kafka.read_stream(session, self._platform, source.topic, source.begin, most, headers=True)

    def _read_all(self, session: SparkSession) -> DataFrame:
        topics = ",".join(each.topic for each in self._declared.inputs.values())
        return kafka.read_stream(session, self._platform, topics, "earliest", self._declared.most_per_batch)

    def _writers_after(self, error: StreamingQueryException | None) -> dict[str, Writers]:
        """The writers' schemas to go on with after a failure. Raises JobError if planning again does not help."""
        if NO_WORKER in message_of(error) and self._starts < STARTS:
            return self._writers
        if unknown := wire.unknown_schema(error):
            subject, schema_id = unknown
            reached = (self._checkpoint.reached() or {}).get(avro.part_of(subject)[0], {})
            return self._writers | {subject: self._known.learned(self._writers[subject], schema_id, reached)}
        raise (self._transactions and self._transactions.failure) or JobError(f"query {self.name} failed: {message_of(error)}")

    def _plan_again_with(self, writers: dict[str, Writers]) -> None:
        print(f"query {self.name}: planning again", flush=True)
        self.stop(time.monotonic() + BATCH_WAIT)
        self._writers = writers
        self.start()

    def _count_late(self) -> None:
        last = self._query.lastProgress
        if last is None or last.batchId <= self._seen:
            return
        self._starts = 0
        for progress in self._query.recentProgress:  # up to a hundred texts of JSON
            if progress.batchId > self._seen:
                self._seen = progress.batchId
                self._late += sum(operator.numRowsDroppedByWatermark for operator in progress.stateOperators)
