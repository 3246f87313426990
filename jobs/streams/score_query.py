"""The query that scores a feed's readings: what it is planned with, and what it makes of the topic's records."""

import datetime as dt
from dataclasses import dataclass, field, replace
from typing import cast

import pyarrow.dataset as ds
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contracts import avro
from contracts.feeds import Feed
from jobs.backends import tables
from jobs.backends.registry import Registry
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.formats import feed_records, wire
from jobs.formats.wire import Writers
from jobs.streams.driver import message_of
from jobs.transforms import scoring

BROADCAST_WHOLE = 4_000_000  # values (rows x slots): a larger baseline is cut to the day types around today


@dataclass(frozen=True)
class Plan:
    """All that a query is planned with. A running query is planned again when its plan differs from the one that is wanted.

    table_version: of the baseline's table, when it was looked at; its rows are those of the version in force. Upkeep of the table
    raises it and makes no other plan.
    """

    baseline_version: int
    day_types: frozenset[int]
    writers: Writers
    output_ids: tuple[tuple[str, int], ...]
    table_version: int = field(compare=False)


def planned(platform: Platform, feed: Feed, registry: Registry) -> Plan:
    """What a query that starts now is planned with."""
    records = {"scored": feed.scored_topic, "anomaly": feed.anomalies_topic}
    log = tables.log_of_baseline(platform, feed)
    return Plan(
        baseline_version=log.version_in_force,
        day_types=_day_types_near(feed),
        writers=registry.writers(avro.subject(feed.topic)),
        output_ids=tuple((record, registry.id_of(avro.subject(topic), avro.latest(record))) for record, topic in records.items()),
        table_version=log.table_version,
    )


def wanted(platform: Platform, feed: Feed, registry: Registry | None, plan: Plan) -> Plan:
    """The plan that should run now. Without a registry to ask, the writers' schemas stay as they are."""
    writers = registry.renewed(plan.writers) if registry else plan.writers
    found = replace(plan, day_types=_day_types_near(feed), writers=writers)
    if tables.baseline(platform, feed).version() == plan.table_version:
        return found
    log = tables.log_of_baseline(platform, feed)
    return replace(found, baseline_version=log.version_in_force, table_version=log.table_version)


def after_failure(error: StreamingQueryException | None, registry: Registry, plan: Plan) -> Plan:
    """The plan to go on with after a record with an unknown schema id ended the query. Raises JobError for any other error."""
    unknown = wire.unknown_schema(error)
    if not unknown:
        raise JobError(f"query failed: {message_of(error)}")
    return replace(plan, writers=registry.learned(plan.writers, unknown[1]))


def difference(plan: Plan, other: Plan) -> str:
    """What the other plan changes, for the log."""
    if plan.baseline_version != other.baseline_version:
        return f"baseline {plan.baseline_version} -> {other.baseline_version}"
    return "a new day" if plan.day_types != other.day_types else "the registry has other writers' schemas"


def baseline_of(session: SparkSession, platform: Platform, feed: Feed, plan: Plan) -> DataFrame:
    """The planned version of the baseline, only what scoring needs of it, in memory; without rows while none is in force.

    It is read without Spark: a driver that has just begun needs several seconds to read Delta itself.
    """
    ddl = "ServiceName string, DayType int, Last4Avg array<double>, Spread array<double>, Growth double"
    shape = cast(T.StructType, T.StructType.fromDDL(ddl))
    if plan.baseline_version < 0:
        return session.createDataFrame([], shape)
    whole = tables.baseline(platform, feed).dataset(plan.table_version)
    near = ds.field("DayType").isin(sorted(plan.day_types))
    chosen = None if whole.count_rows() * feed.slots <= BROADCAST_WHOLE else near
    return session.createDataFrame(whole.to_table(columns=shape.names, filter=chosen), shape).cache()


def early_filter(records: DataFrame, services: tuple[str, ...]) -> DataFrame:
    """Only the records of these services, before anything is decoded; all where none is named."""
    return records.where(F.col("key").cast("string").isin(*services)) if services else records


def outputs(records: DataFrame, baseline: DataFrame, feed: Feed, plan: Plan) -> DataFrame:
    """Kafka records of the feed's topic to Kafka records (topic, key, value, headers) of its derived topics."""
    decoded = feed_records.decode(records, feed, plan.writers)
    scored = scoring.score(decoded, baseline, feed.timezone, feed.interval_seconds, _holidays(feed), feed.rule.model_dump())
    version = F.lit(plan.baseline_version).cast("long").alias("BaselineVersion")
    return feed_records.route(scored.select("*", version), feed, dict(plan.output_ids))


def _day_types_near(feed: Feed) -> frozenset[int]:
    """Yesterday's (its tail still comes in), today's and tomorrow's."""
    today = dt.datetime.now(feed.zone).date()
    return frozenset(feed.day_type(today + dt.timedelta(days=days)) for days in (-1, 0, 1))


def _holidays(feed: Feed) -> list[dt.date]:
    """Ten years back, as captures of the past are replayed too, and two ahead."""
    this_year = dt.datetime.now(feed.zone).year
    return feed.holiday_dates(dt.date(this_year - 10, 1, 1), dt.date(this_year + 2, 12, 31))
