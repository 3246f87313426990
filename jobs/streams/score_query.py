"""The query that scores a feed's readings: what it is planned with, and what it makes of the topic's records."""

import datetime as dt
import gc
from dataclasses import dataclass, field, replace
from typing import cast

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark import StorageLevel
from pyspark.errors import StreamingQueryException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming import StreamingQuery

from contracts import avro
from contracts.baseline_log import BaselineLog
from contracts.calendar_entries import Kind
from contracts.feeds import Feed
from jobs.backends import kafka, tables
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.formats import feed_records, wire
from jobs.formats.wire import Writers
from jobs.streams.driver import message_of
from jobs.streams.generations import Generation, Offsets
from jobs.streams.known_writers import KnownWriters
from jobs.transforms import packed, scoring

CATCH_UP_LINGER = 5  # milliseconds
BROADCAST_WHOLE = 4_000_000  # values (rows x slots): a larger baseline is cut to the day types around today
PART = 4 << 20  # bytes of the baseline that a task carries; on a cluster, Spark refuses tasks of more than 128 MB


@dataclass(frozen=True)
class Plan:
    """All that a query is planned with. A running query is planned again when its plan differs from the one that is wanted.

    table_version: of the baseline's table, when it was looked at; its rows are those of the version in force. Upkeep of the table
    raises it and makes no other plan. special_days: what the baseline takes holidays and special days for, by evidence.
    """

    baseline_version: int
    day_types: frozenset[int]
    writers: Writers
    output_ids: tuple[tuple[str, int], ...]
    table_version: int = field(compare=False)
    special_days: tuple[tuple[dt.date, Kind], ...] = ()


class Queries:
    """Makes the queries that score a feed, one after the other. services: the only ones to be scored; empty for all."""

    def __init__(
        self, session: SparkSession, platform: Platform, feed: Feed, known: KnownWriters, services: tuple[str, ...] = ()
    ):
        self.session = session
        self._platform, self._feed, self._known, self._services = platform, feed, known, services
        self._baselines: dict[tuple[int, frozenset[int]], DataFrame] = {}
        self._made: dict[Plan, DataFrame] = {}
        self.unread: str | None = None  # why it is not known whether there is a first baseline

    def first_plan(self) -> Plan:
        """What a driver's first query is planned with."""
        records = {"scored": self._feed.scored_topic, "anomaly": self._feed.anomalies_topic}
        ids = {record: self._known.registry.id_of(avro.subject(topic), avro.latest(record)) for record, topic in records.items()}
        log = tables.log_of_baseline(self._platform, self._feed)
        found = _special_days(log)
        return Plan(
            baseline_version=log.version_in_force,
            day_types=_day_types_near(self._feed.with_found(dict(found))),
            writers=self._known.of(avro.subject(self._feed.topic)),
            output_ids=tuple(ids.items()),
            table_version=log.table_version,
            special_days=found,
        )

    def plan_after(self, plan: Plan) -> Plan:
        """What a query that starts now, after one with this plan, is planned with. Where the registry is silent, the writers'
        schemas stay as they are."""
        found = self.plan_with_renewed_writers(plan)
        if tables.baseline(self._platform, self._feed).version() != plan.table_version:
            log = tables.log_of_baseline(self._platform, self._feed)
            found = replace(
                found,
                baseline_version=log.version_in_force,
                table_version=log.table_version,
                special_days=_special_days(log),
            )
        return replace(found, day_types=_day_types_near(self._feed.with_found(dict(found.special_days))))

    def plan_with_renewed_writers(self, plan: Plan) -> Plan:
        """The same plan with the writers' schemas of now: all of `plan_after` that takes no time."""
        return replace(plan, writers=self._known.renewed(plan.writers))

    def plan_with_first_baseline(self, plan: Plan) -> Plan | None:
        """What to plan with as soon as a baseline was promoted, after a plan without one; None while there is no reason to, or
        while that cannot be found out: then `unread` says why."""
        if plan.baseline_version >= 0:
            return None
        try:
            same = tables.baseline(self._platform, self._feed).version() == plan.table_version
            found = plan if same else self.plan_after(plan)
        except Exception as error:  # of a lake that does not answer: scoring goes on without a baseline, as before
            self.unread = f"the baseline cannot be read: {type(error).__name__}: {error}"
            return None
        self.unread = None
        return found if found.baseline_version >= 0 else None

    def plan_after_failure(self, error: StreamingQueryException | None, plan: Plan, reached: Offsets) -> Plan:
        """The plan to go on with after a record with an unknown schema id ended the query. Raises JobError for another error.

        reached: up to where readings are committed.
        """
        unknown = wire.unknown_schema(error)
        if not unknown:
            raise JobError(f"query failed: {message_of(error)}")
        return replace(self.plan_after(plan), writers=self._known.learned(plan.writers, unknown[1], reached))

    def plan_with_registered(self, plan: Plan) -> Plan:
        """The plan with the writers' schemas that the registry has now. Raises JobError if the registry is silent."""
        return replace(plan, writers=self._known.registry.writers(plan.writers.subject, plan.writers.refused))

    def prepare(self, plan: Plan) -> None:
        """Read the baseline that a query with this plan needs, so that it starts at once."""
        self._results(plan)

    def start(self, generation: Generation, plan: Plan, seconds: float, behind: bool = False) -> StreamingQuery:
        """A query from where the generation begins. seconds: length of its batches. behind: it has much to catch up with, so
        throughput counts more than latency."""
        return (
            self._results(plan)
            .writeStream.queryName(f"{self._feed.name}.{generation.number}")
            .format("kafka")
            .options(**kafka.producer_options(self._platform, linger=CATCH_UP_LINGER if behind else 0))
            .outputMode("update")
            .option("checkpointLocation", str(generation.folder))
            .trigger(realTime=f"{seconds:.0f} seconds")  # type: ignore[call-overload] # not in its overloads yet
            .start()
        )

    def keep_only(self, plan: Plan) -> None:
        """Let go of the baselines that no query with this plan needs. Spark frees what nothing refers to."""
        self._made = {each: made for each, made in self._made.items() if each == plan}
        self._baselines = {each: made for each, made in self._baselines.items() if each == _of_baseline(plan)}
        # pyspark's objects are in reference cycles. Python looks for these when it has made many objects, and does not know how
        # much memory of the JVM a few of them keep.
        gc.collect()

    def _results(self, plan: Plan) -> DataFrame:
        """Made once for each plan: where a query begins is in its generation's checkpoint, not in what it computes."""
        if plan not in self._made:
            records = kafka.read_stream(self.session, self._platform, self._feed.topic, begin="earliest")
            self._made[plan] = outputs(early_filter(records, self._services), self.baseline(plan), self._feed, plan)
        return self._made[plan]

    def baseline(self, plan: Plan) -> DataFrame:
        """The planned version of the baseline, only what scoring needs of it, on Spark's local disks; without rows while none is
        in force.

        It is read without Spark: a driver that has just begun needs several seconds to read Delta itself. A query's broadcast has
        it in memory twice, so it is not kept there a third time.
        """
        if found := self._baselines.get(_of_baseline(plan)):
            return found
        columns = scoring.columns(self._feed.rule.model_dump())
        ddl = ", ".join(f"{name} {packed.COLUMNS[name]}" for name in columns)
        shape = cast(T.StructType, T.StructType.fromDDL(ddl))
        if plan.baseline_version < 0:
            return self.session.createDataFrame([], shape)
        whole = tables.baseline(self._platform, self._feed).dataset(plan.table_version)
        near = ds.field("DayType").isin(sorted(plan.day_types))
        chosen = None if whole.count_rows() * self._feed.slots <= BROADCAST_WHOLE else near
        # Not merely cached: of a frame that was made from local data, each task carries its part of the data with it.
        rows = packed.with_normal(whole.to_table(columns=[name for name in columns if name in whole.schema.names], filter=chosen))
        frame = self.session.createDataFrame(_in_parts(rows.select(columns)), shape)
        made = frame.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
        self._baselines[_of_baseline(plan)] = made
        return made


def difference(plan: Plan, other: Plan) -> str:
    """What the other plan changes, for the log; empty if nothing."""
    if plan.baseline_version != other.baseline_version:
        return f"baseline {plan.baseline_version} -> {other.baseline_version}"
    if plan.day_types != other.day_types:
        return "a new day"
    return "" if plan == other else "the registry has other writers' schemas"


def refuses_what_other_scores(plan: Plan, other: Plan) -> bool:
    """Whether the other plan has the schema of an id that a query with this plan refuses."""
    return any(plan.writers.refuses(schema_id) for schema_id, _ in other.writers.schemas)


def _in_parts(rows: pa.Table) -> pa.Table:
    """The same rows in chunks of PART bytes on average, or of one row: Spark makes a task of each chunk."""
    each = max(1, rows.num_rows * PART // max(1, rows.nbytes))
    return pa.Table.from_batches(rows.to_batches(max_chunksize=each), rows.schema)


def _of_baseline(plan: Plan) -> tuple[int, frozenset[int]]:
    return plan.baseline_version, plan.day_types


def early_filter(records: DataFrame, services: tuple[str, ...]) -> DataFrame:
    """Only the records of these services, before anything is decoded; all where none is named."""
    return records.where(F.col("key").cast("string").isin(*services)) if services else records


def outputs(records: DataFrame, baseline: DataFrame, feed: Feed, plan: Plan) -> DataFrame:
    """Kafka records of the feed's topic to Kafka records (topic, key, value, headers) of its derived topics."""
    decoded = feed_records.decode(records, feed, plan.writers)
    day_types = _day_types(feed.with_found(dict(plan.special_days)))
    scored = scoring.score(decoded, baseline, feed.timezone, feed.interval_seconds, day_types, feed.rule.model_dump())
    version = _by_reference(plan.baseline_version).alias("BaselineVersion")
    return feed_records.route(scored.select("*", version), feed, dict(plan.output_ids))


def _by_reference(number: int) -> Column:
    """A constant (long) that is no part of the code that Spark generates, as no array is. The index is taken from the row: if the
    optimizer saw that it is always 0, it would put the number into the code. See `wire.decode`."""
    first = F.col("KafkaPartition") - F.col("KafkaPartition")
    return F.get(F.array(F.lit(number).cast("long")), first)


def _day_types_near(feed: Feed) -> frozenset[int]:
    """Yesterday's (its tail still comes in), today's and tomorrow's."""
    today = dt.datetime.now(feed.zone).date()
    return frozenset(feed.calendar.day_type(today + dt.timedelta(days=days)) for days in (-1, 0, 1))


def _day_types(feed: Feed) -> dict[dt.date, int]:
    """Of holidays and special days: ten years back, as captures of the past are replayed too, and two ahead."""
    this_year = dt.datetime.now(feed.zone).year
    return feed.calendar.other_day_types(dt.date(this_year - 10, 1, 1), dt.date(this_year + 2, 12, 31))


def _special_days(log: BaselineLog) -> tuple[tuple[dt.date, Kind], ...]:
    return tuple(log.in_force.special_days.items()) if log.in_force else ()
