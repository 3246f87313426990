"""Run queries: every declared query of one application, as micro-batch queries of one Spark driver, until it is stopped.

Each has its own checkpoint and is planned anew by itself when its inputs' writers have a new schema. If one fails for good, the
driver ends with its error, and all of them begin again where they were once it is started again.

Delivery is at least once: a batch that was interrupted is written again. As a row that is computed again has the same key, topics
are compacted and readers upsert, its effect is once. Where a declaration asks for exactly once, `transactions` writes instead.
A query that was never run begins with the oldest record of each topic, or the next one where its declaration says so.
Rows that come later than an input's lateness are left out by Spark where it has state to protect; the heartbeat counts them.
"""

import time
from contextlib import suppress
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from contracts import avro
from contracts.queries import Query, load_application
from contracts.query_io import Input, Output
from jobs import kafka, rows, settings, spark, wire
from jobs.backlog import BatchesBacklog
from jobs.driver import Driver, now, said
from jobs.settings import JobError, Platform
from jobs.transactions import Transactions
from jobs.wire import Writers

WATCH_SECONDS = 1.0
REGISTRY_EVERY = 5  # watches
BATCH_WAIT = 10.0  # seconds that a batch which is being worked on has to end before it is interrupted


def main(platform: Platform) -> None:
    options = settings.application_parser(__doc__).parse_args()
    with Driver(platform, options.application, "queries") as driver:
        session = spark.session(driver.name, platform)
        driver.runs_as(session.sparkContext.applicationId)
        registry = kafka.Registry(platform)
        declared = load_application(options.application, options.queries).values()
        running = [Running(session, platform, registry, query, f"{driver.checkpoint}/{query.name}") for query in declared]
        driver.measured_by(lambda: _together([each.measured() for each in running]))
        try:
            for each in running:
                each.start()
            _watch(driver, running)
        finally:
            driver.report(state="stopping")
            deadline = time.monotonic() + BATCH_WAIT
            for each in running:
                each.stop(deadline)


def _watch(driver: Driver, running: list["Running"]) -> None:
    """Returns when a stop is asked for. Raises JobError when a query fails for good."""
    watches = 0
    while not driver.wait(WATCH_SECONDS):
        watches += 1
        for each in running:
            each.look(ask_registry=watches % REGISTRY_EVERY == 0)
        states = {each.state for each in running}
        driver.report(state="starting" if "starting" in states else "running", queries={e.name: e.told() for e in running})


def _together(measured: list[dict]) -> dict:
    """What an application's heartbeat tells as its health: the worst of its queries' waiting, the sum of what came in."""
    known = [each for each in measured if each]
    if not known:
        return {}
    worst = ("lag_records", "lag_seconds", "stalled_seconds")
    rates = [each["input_per_second"] for each in known if each["input_per_second"] is not None]
    return {name: max(each[name] for each in known) for name in worst} | {"input_per_second": sum(rates) if rates else None}


class Running:
    """One query, from its first plan on."""

    def __init__(self, session: SparkSession, platform: Platform, registry: kafka.Registry, query: Query, checkpoint: str):
        self.name = query.name
        self._session, self._platform, self._registry = session, platform, registry
        self._declared, self._checkpoint = query, Path(checkpoint)
        self._writers = {name: registry.writers(name) for each in query.inputs.values() for name in rows.subjects(each)}
        self._started_at, self._seen, self._late = now(), -1, 0
        self._query: StreamingQuery | None = None
        self._transactions: Transactions | None = None  # of a query that is delivered exactly once
        self._backlog = BatchesBacklog(platform, {each.topic for each in query.inputs.values()}, self._checkpoint)
        self._health: dict = {}

    def start(self) -> None:
        """Plan with what is known of the writers now, and go on from the checkpoint."""
        self._started_at, self._seen = now(), -1
        print(f"query {self.name} started at {self._started_at}", flush=True)
        self._query = (
            self._written(self._records().writeStream)
            .queryName(self.name)
            .outputMode(self._declared.mode)
            .option("checkpointLocation", str(self._checkpoint))
            .trigger(processingTime=self._declared.trigger)
            .start()
        )

    def look(self, ask_registry: bool) -> None:
        """Start anew where there is a reason to. Raises JobError when the query has failed and can't be mended."""
        self._count_late()
        if not self._query.isActive:
            error = self._query.exception()
            unknown = wire.unknown_schema(error)
            if not unknown:
                ours = self._transactions and self._transactions.failure
                raise ours or JobError(f"query {self.name} failed: {said(error)}")
            subject, schema_id = unknown
            self._plan_with(self._writers | {subject: self._registry.learned(self._writers[subject], schema_id)})
        elif ask_registry:
            renewed = {name: self._registry.renewed(writers) for name, writers in self._writers.items()}
            if renewed != self._writers:
                self._plan_with(renewed)

    @property
    def state(self) -> str:
        """`running` once it has fixed where it begins, or has looked and found nothing."""
        begun = any((self._checkpoint / "offsets").glob("[0-9]*"))
        return "running" if begun or self._query.lastProgress else "starting"

    def told(self) -> dict:
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

    def measured(self) -> dict:
        """How far it is behind its topics, see `BatchesBacklog.measure`; what was measured before while the broker is silent."""
        with suppress(JobError):
            self._health = self._backlog.measure()
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
        decoded = {
            alias: rows.decode(self._read(session, each), each, self._writers) for alias, each in self._declared.inputs.items()
        }
        held = {
            alias: rows.decode(kafka.read_whole(session, self._platform, each.topic), each, self._writers)
            for alias, each in self._declared.looked_up.items()
        }
        in_avro = [each for each in self._declared.outputs if each.encoding == "avro"]
        return rows.records(self._declared, decoded, {each.topic: self._schema_id(each) for each in in_avro}, held)

    def _schema_id(self, output: Output) -> int:
        return self._registry.id_of(avro.subject(output.topic), avro.schema(output.record, output.version))

    def _read(self, session: SparkSession, source: Input) -> DataFrame:
        most = self._declared.most_per_batch
        return kafka.read_stream(session, self._platform, source.topic, source.begin, most, headers=True)

    def _plan_with(self, writers: dict[str, Writers]) -> None:
        print(f"query {self.name}: planning anew", flush=True)
        self.stop(time.monotonic() + BATCH_WAIT)
        self._writers = writers
        self.start()

    def _count_late(self) -> None:
        for progress in self._query.recentProgress:
            if progress.batchId > self._seen:
                self._seen = progress.batchId
                self._late += sum(operator.numRowsDroppedByWatermark for operator in progress.stateOperators)


if __name__ == "__main__":
    settings.run(main)
