"""Score: each live reading beside the baseline in force, in Spark's real-time mode; anomalies within milliseconds.

Writes <feed>.scored, <feed>.anomalies and <feed>.dead-letter. Runs until it is stopped. A promoted baseline, a new version of the
writers' schema or a new day makes it plan the query anew from its checkpoint; the application stays up. After such a change, as
after a crash, readings since the last checkpoint are scored again: outputs carry a deterministic key, so readers upsert.
"""

import datetime as dt
from dataclasses import dataclass, replace

import pyarrow.dataset as ds
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming import StreamingQuery

from contracts import avro
from contracts.feeds import Feed
from jobs import kafka, lake, readings, settings, spark, wire
from jobs.backlog import Backlog
from jobs.driver import Driver, now, said
from jobs.settings import JobError, Platform
from jobs.transforms import scoring
from jobs.wire import Writers

WATCH_SECONDS = 1.0
REGISTRY_EVERY = 5  # watches
RESUMED_BATCH = 15  # seconds of the first batch of a driver that goes on where another one ended
BROADCAST_WHOLE = 4_000_000  # cells (rows x slots): a larger baseline is cut to the day types around today


@dataclass(frozen=True)
class Plan:
    """All that a running query was planned with; where it differs from what should be, the query is planned anew."""

    baseline_version: int
    day_types: frozenset[int]
    writers: Writers
    output_ids: tuple[tuple[str, int], ...]


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    arguments.add_argument("--services", type=_names, default=(), help="score these services only, e.g. checkout,search")
    arguments.add_argument(
        "--checkpoint-interval", type=int, default=120, metavar="SECONDS", help="length of a real-time batch (default 120)"
    )
    options = arguments.parse_args()
    feed: Feed = options.feed
    nothing_yet = {"baseline_version": -1, "batch_id": None, "query_started_at": None}
    with Driver(platform, feed.name, "score", **nothing_yet) as driver:
        session = spark.session(driver.name, platform)
        driver.runs_as(session.sparkContext.applicationId)
        registry = kafka.Registry(platform)
        plan = planned(platform, feed, registry)
        baseline = baseline_of(session, platform, feed, plan)
        # What had piled up is done and its offsets are kept early: else a driver that never lived as long as a batch would find
        # ever more to be done again.
        seconds = RESUMED_BATCH if _begun(driver) else options.checkpoint_interval
        while True:
            if not options.services:
                driver.measured_by(Backlog(platform, feed, driver.checkpoint).measure)
            records = early_filter(kafka.read_stream(session, platform, feed.topic, begin="latest"), options.services)
            query = _start(outputs(records, baseline, feed, plan), platform, driver, plan, seconds)
            wanted = _watch(query, driver, platform, feed, registry, plan, one_batch=seconds < options.checkpoint_interval)
            query.stop()
            if wanted is None:
                return
            if query.lastProgress:
                seconds = options.checkpoint_interval
            if wanted != plan:
                baseline.unpersist()
                plan, baseline = wanted, baseline_of(session, platform, feed, wanted)


def _start(results: DataFrame, platform: Platform, driver: Driver, plan: Plan, checkpoint_interval: int) -> StreamingQuery:
    print(f"query started at {now()}, baseline version {plan.baseline_version}", flush=True)
    query = (
        results.writeStream.queryName(driver.name)
        .format("kafka")
        .options(**kafka.producer_options(platform))
        .outputMode("update")
        .option("checkpointLocation", driver.checkpoint)
        .trigger(realTime=f"{checkpoint_interval} seconds")
        .start()
    )
    driver.report(baseline_version=plan.baseline_version, query_started_at=now())
    return query


def early_filter(records: DataFrame, services: tuple[str, ...]) -> DataFrame:
    """Only the records of these services, before anything is decoded; all where none is named."""
    return records.where(F.col("key").cast("string").isin(*services)) if services else records


def outputs(records: DataFrame, baseline: DataFrame, feed: Feed, plan: Plan) -> DataFrame:
    """Kafka records of the feed's topic to Kafka records (topic, key, value, headers) of its derived topics."""
    decoded = readings.decode(records, feed, plan.writers)
    scored = scoring.score(decoded, baseline, feed.timezone, feed.interval_seconds, _holidays(feed), feed.rule.model_dump())
    version = F.lit(plan.baseline_version).cast("long").alias("BaselineVersion")
    return readings.route(scored.select("*", version), feed, dict(plan.output_ids))


def _watch(
    query: StreamingQuery, driver: Driver, platform: Platform, feed: Feed, registry: kafka.Registry, plan: Plan, one_batch: bool
) -> Plan | None:
    """Returns the plan to go on with as soon as it is another one, or the same after a batch where that is all that is wanted;
    None when a stop is asked for. Raises when the query fails."""
    watches = 0
    while not driver.wait(WATCH_SECONDS):
        if not query.isActive:
            driver.report(state="swapping")
            return _after_failure(query.exception(), registry, plan)
        progress = query.lastProgress
        driver.report(state="running" if _begun(driver) else "starting", batch_id=progress and progress["batchId"])
        if one_batch and progress:
            driver.report(state="swapping")
            return plan
        watches += 1
        wanted = _wanted(platform, feed, registry if watches % REGISTRY_EVERY == 0 else None, plan)
        if wanted != plan:
            print(f"planning anew: {_difference(plan, wanted)}", flush=True)
            driver.report(state="swapping")
            return wanted
    driver.report(state="stopping")
    return None


def _begun(driver: Driver) -> bool:
    """Whether the source has fixed where the stream begins."""
    return (driver.folder / "checkpoint" / "sources" / "0" / "0").exists()


def _difference(plan: Plan, wanted: Plan) -> str:
    """What is to be planned otherwise, for the log."""
    if plan.baseline_version != wanted.baseline_version:
        return f"baseline {plan.baseline_version} -> {wanted.baseline_version}"
    return "a new day" if plan.day_types != wanted.day_types else "the registry has other writers' schemas"


def planned(platform: Platform, feed: Feed, registry: kafka.Registry) -> Plan:
    """What a query that starts now is planned with."""
    records = {"scored": feed.scored_topic, "anomaly": feed.anomalies_topic}
    return Plan(
        baseline_version=lake.baseline(platform, feed).version(),
        day_types=_day_types_near(feed),
        writers=registry.writers(avro.subject(feed.topic)),
        output_ids=tuple((record, registry.id_of(avro.subject(topic), avro.latest(record))) for record, topic in records.items()),
    )


def _wanted(platform: Platform, feed: Feed, registry: kafka.Registry | None, plan: Plan) -> Plan:
    """The plan that should run now; without a registry to ask, what is known of it stays."""
    writers = registry.renewed(plan.writers) if registry else plan.writers
    version = lake.baseline(platform, feed).version()
    return replace(plan, baseline_version=version, day_types=_day_types_near(feed), writers=writers)


def _after_failure(error: StreamingQueryException | None, registry: kafka.Registry, plan: Plan) -> Plan:
    """A record whose schema id is unknown ends the query: the registry is asked."""
    unknown = wire.unknown_schema(error)
    if not unknown:
        raise JobError(f"query failed: {said(error)}")
    return replace(plan, writers=registry.learned(plan.writers, unknown[1]))


def baseline_of(session: SparkSession, platform: Platform, feed: Feed, plan: Plan) -> DataFrame:
    """The planned version of the baseline, only what scoring needs of it, in memory; without rows while none is in force.

    It is read without Spark, whose own reading of Delta takes a driver that has just begun several seconds.
    """
    shape = T.StructType.fromDDL("ServiceName string, DayType int, Last4Avg array<double>, Spread array<double>, Growth double")
    if plan.baseline_version < 0:
        return session.createDataFrame([], shape)
    whole = lake.baseline(platform, feed).dataset(plan.baseline_version)
    near = ds.field("DayType").isin(sorted(plan.day_types))
    wanted = None if whole.count_rows() * feed.slots <= BROADCAST_WHOLE else near
    return session.createDataFrame(whole.to_table(columns=shape.names, filter=wanted), shape).cache()


def _day_types_near(feed: Feed) -> frozenset[int]:
    """Yesterday's (its tail still comes in), today's and tomorrow's."""
    today = dt.datetime.now(feed.zone).date()
    return frozenset(feed.day_type(today + dt.timedelta(days=days)) for days in (-1, 0, 1))


def _holidays(feed: Feed) -> list[dt.date]:
    """Ten years back, as captures of the past are replayed too, and two ahead."""
    this_year = dt.datetime.now(feed.zone).year
    return feed.holiday_dates(dt.date(this_year - 10, 1, 1), dt.date(this_year + 2, 12, 31))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


if __name__ == "__main__":
    settings.run(main)
