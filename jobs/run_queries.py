"""Run queries: every declared query of one application, as micro-batch queries of one Spark driver, until it is stopped.

A query of feeds is planned again when a feed is declared and deployed, or is no longer declared: see `feeds_read`.
Each has its own checkpoint and is planned again by itself when its inputs' writers have a new schema. If one fails for good, the
driver ends with its error, and all of them begin again where they were once it is started again.

Delivery is at least once: a batch that was interrupted is written again. As a row that is computed again has the same key, topics
are compacted and readers upsert, its effect is once. Where a declaration asks for exactly once, `transactions` writes instead.
A query that was never run begins with the oldest record of each topic, or the next one where its declaration says so.
Rows that come later than an input's lateness are left out by Spark where it has state to protect; the heartbeat counts them.
"""

import time
from collections.abc import Callable
from functools import partial

from pyspark.sql import SparkSession

from contracts.queries import Query
from jobs.backends import kafka, settings, spark
from jobs.backends.settings import Platform
from jobs.streams.checkpoint import Checkpoint
from jobs.streams.driver import Driver, now
from jobs.streams.feeds_read import Declared
from jobs.streams.known_writers import KnownWriters
from jobs.streams.lag_and_rates import DeadLetters
from jobs.streams.running_query import BATCH_WAIT, RunningQuery

WATCH_SECONDS = 1.0
SELDOM = 5  # watches, after which registry and topics are looked at


def main(platform: Platform) -> None:
    options = settings.application_parser(__doc__).parse_args()
    with Driver(platform, options.application, "queries", query_started_at=None) as driver:
        session = spark.stream_session(driver.name, platform)
        driver.runs_as(session.sparkContext.applicationId, ask=lambda: session.sparkContext.version)
        known = KnownWriters(session, platform, driver.folder)
        declared = Declared(platform, options.application, options.queries, driver.folder.checkpoint)
        queries: list[Query] | None = declared.now()
        while queries:
            queries = _run(platform, driver, session, known, declared, queries)


def _run(
    platform: Platform, driver: Driver, session: SparkSession, known: KnownWriters, declared: Declared, queries: list[Query]
) -> list[Query] | None:
    """Runs the queries. Returns those that are to run from then on, or None when a stop is asked for. Raises JobError when a
    query fails for good."""
    planning = partial(driver.report, state="swapping")  # so that the supervision takes it for no standstill
    checkpoints, renewed = driver.folder.checkpoint, None
    running = [RunningQuery(session, platform, known, each, Checkpoint(checkpoints / each.name), planning) for each in queries]
    dead_letters = {topic for query in queries for topic in query.dead_letter_topics}
    ends = kafka.Ends(platform, sorted({each.topic for query in queries for each in query.inputs.values()} | dead_letters))
    try:
        for each in running:
            each.begin()
        letters = DeadLetters(dead_letters, ends.now())
        driver.report(query_started_at=now())
        driver.measured_by(lambda: _measured(ends, running, letters))
        for each in running:
            each.start()
        renewed = _watch(driver, running, lambda: declared.renewed(queries))
    finally:
        driver.report(state="swapping" if renewed else "stopping")
        deadline = time.monotonic() + BATCH_WAIT
        for each in running:
            each.stop(deadline)
    return renewed


def _watch(driver: Driver, running: list[RunningQuery], renewed: Callable[[], list[Query] | None]) -> list[Query] | None:
    """Returns what `renewed` gives as soon as it gives something, and None when a stop is asked for. Raises JobError when a query
    fails for good."""
    watches = 0
    while not driver.wait(WATCH_SECONDS):
        watches += 1
        for each in running:
            each.look(well=watches % SELDOM == 0)
        state = "starting" if "starting" in {each.state for each in running} else "running"
        driver.report(state=state, queries={each.name: each.figures() for each in running})
        if watches % SELDOM == 0 and (queries := renewed()):
            return queries
    return None


def _measured(ends: kafka.Ends, running: list[RunningQuery], letters: DeadLetters) -> dict:
    """The health of an application, for its heartbeat: the worst lag of its queries, the sum of what came in, dead letters. The
    broker is asked once for all of them. Raises JobError if it is silent."""
    now_ = ends.now()
    known = [figures for each in running if (figures := each.measured(now_))]
    if not known:
        return {}
    worst = ("lag_records", "lag_seconds", "stalled_seconds")
    rates = [each["input_per_second"] for each in known if each["input_per_second"] is not None]
    lag = {name: max(each[name] for each in known) for name in worst}
    return lag | {"input_per_second": sum(rates) if rates else None} | letters.measure(now_)


if __name__ == "__main__":
    settings.run(main)
