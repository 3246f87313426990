"""Score: each live reading beside the baseline in force, in Spark's real-time mode; anomalies within milliseconds.

Writes <feed>.scored, <feed>.anomalies and <feed>.dead-letter. Runs until it is stopped. A promoted baseline, a new version of the
writers' schema or a new day makes it plan the query again from its checkpoint; the application stays up. After such a change, as
after a crash, readings since the last checkpoint are scored again: outputs carry a deterministic key, so readers upsert.
"""

from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from contracts.feeds import Feed
from jobs.backends import kafka, settings, spark
from jobs.backends.registry import Registry
from jobs.backends.settings import Platform
from jobs.streams import score_query, topics_read
from jobs.streams.checkpoint import Checkpoint
from jobs.streams.driver import Driver, now
from jobs.streams.lag import Backlog
from jobs.streams.score_query import Plan
from jobs.streams.topics_read import TopicsRead

WATCH_SECONDS = 1.0
SELDOM = 5  # watches, after which registry and topics are looked at
RESUMED_BATCH = 15  # seconds of the first batch of a driver that goes on where another one ended


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
        registry = Registry(platform)
        plan = score_query.planned(platform, feed, registry)
        baseline = score_query.baseline_of(session, platform, feed, plan)
        topics = topics_read.of_feed(platform, feed, _checkpoint(driver), spark.cores(session))
        topics.begin()
        # The first batch of a resumed driver is short, so that the offsets of what had piled up are kept early. A driver that
        # never lived as long as a whole batch would find ever more to do again.
        seconds = RESUMED_BATCH if _checkpoint(driver).has_begun else options.checkpoint_interval
        while True:
            if not options.services:
                driver.measured_by(Backlog(platform, feed, _checkpoint(driver)).measure)
            records = kafka.read_stream(session, platform, feed.topic, begin="latest")
            records = score_query.early_filter(records, options.services)
            query = _start(score_query.outputs(records, baseline, feed, plan), platform, driver, plan, seconds)
            one_batch = seconds < options.checkpoint_interval
            wanted = _watch(query, driver, platform, feed, registry, topics, plan, one_batch)
            query.stop()
            if wanted is None:
                return
            if query.lastProgress:
                seconds = options.checkpoint_interval
            if wanted != plan:
                baseline.unpersist()
                plan, baseline = wanted, score_query.baseline_of(session, platform, feed, wanted)


def _start(results: DataFrame, platform: Platform, driver: Driver, plan: Plan, checkpoint_interval: int) -> StreamingQuery:
    print(f"query started at {now()}, baseline version {plan.baseline_version}", flush=True)
    query = (
        results.writeStream.queryName(driver.name)
        .format("kafka")
        .options(**kafka.producer_options(platform))
        .outputMode("update")
        .option("checkpointLocation", driver.checkpoint)
        .trigger(realTime=f"{checkpoint_interval} seconds")  # type: ignore[call-overload] # not in its overloads yet
        .start()
    )
    driver.report(baseline_version=plan.baseline_version, query_started_at=now())
    return query


def _watch(
    query: StreamingQuery,
    driver: Driver,
    platform: Platform,
    feed: Feed,
    registry: Registry,
    topics: TopicsRead,
    plan: Plan,
    one_batch: bool,
) -> Plan | None:
    """Returns the plan to go on with: another one as soon as it is wanted, the same after a batch if `one_batch`; None when a
    stop is asked for. Raises JobError when the query fails, or its topic was made anew."""
    watches = 0
    while not driver.wait(WATCH_SECONDS):
        if not query.isActive:
            driver.report(state="swapping")
            topics.look()  # what then fails says less about the reason
            return score_query.after_failure(query.exception(), registry, plan)
        progress = query.lastProgress
        state = "running" if _checkpoint(driver).has_begun else "starting"
        driver.report(state=state, batch_id=progress and progress["batchId"])
        if one_batch and progress:
            driver.report(state="swapping")
            return plan
        watches += 1
        seldom = watches % SELDOM == 0
        if seldom:
            topics.look()
        wanted = score_query.wanted(platform, feed, registry if seldom else None, plan)
        if wanted != plan:
            print(f"planning again: {score_query.difference(plan, wanted)}", flush=True)
            driver.report(state="swapping")
            return wanted
        plan = wanted
    driver.report(state="stopping")
    return None


def _checkpoint(driver: Driver) -> Checkpoint:
    return Checkpoint(driver.folder.checkpoint)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


if __name__ == "__main__":
    settings.run(main)
