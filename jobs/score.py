"""Score: each live reading beside the baseline in force, in Spark's real-time mode; anomalies within milliseconds.

Writes <feed>.scored, <feed>.anomalies and <feed>.dead-letter. Runs until it is stopped. Its queries take turns, so that no
reading waits between two of them, and each takes up the newest baseline and schemas: see `streams/handover.py`. After a crash,
readings since the last commit are scored again: outputs carry a deterministic key, so readers upsert.
"""

import time
from collections.abc import Callable

from contracts.feeds import Feed
from jobs.backends import history_table, settings, spark
from jobs.backends.settings import Platform
from jobs.streams import topics_read
from jobs.streams.driver import Driver, now
from jobs.streams.generations import Generations, Offsets
from jobs.streams.handover import Handover
from jobs.streams.known_writers import KnownWriters
from jobs.streams.lag_and_rates import Backlog
from jobs.streams.score_query import Plan, Queries
from jobs.streams.topics_read import TopicsRead
from jobs.streams.turn import Turn

SELDOM = 5.0  # seconds, after which topic and registry are looked at again


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    arguments.add_argument("--services", type=_names, default=(), help="score these services only, e.g. checkout,search")
    arguments.add_argument(
        "--checkpoint-interval",
        type=settings.checkpoint_seconds,
        metavar="SECONDS",
        help="how often offsets are committed, and what has changed is taken up; at least 15"
        " (default: SUNDIAL_CHECKPOINT_SECONDS, or 60)",
    )
    options = arguments.parse_args()
    feed: Feed = options.feed
    nothing_yet = {"baseline_version": -1, "generation": None, "query_started_at": None}
    with Driver(platform, feed.name, "score", **nothing_yet) as driver:
        history_table.opened(platform, feed)  # as the baseline is made from it, slots of two intervals or zones would be mixed
        session = spark.stream_session(driver.name, platform)
        driver.runs_as(session.sparkContext.applicationId, ask=lambda: session.sparkContext.version)
        queries = Queries(session, platform, feed, KnownWriters(session, platform, driver.folder), options.services)
        generations = Generations(driver.folder.checkpoint, feed.topic)
        generations.adopt()
        topics = topics_read.of_feed(platform, feed, generations, spark.cores(session))
        plan: Plan | None = queries.first_plan()
        again: Offsets = {}
        while plan:
            handover = Handover(platform, queries, generations, topics, options.checkpoint_interval or platform.checkpoint)
            generation = handover.prepare(again)
            keeps_up = handover.caught_up
            if not options.services:  # the topics' ends must be known before anything goes out
                backlog = Backlog(platform, feed, generation.begin, handover.overlap)
                driver.measured_by(backlog.measure)
                keeps_up = backlog.keeps_up
            handover.begin(generation, plan)
            driver.report(query_started_at=now())
            plan = _watch(handover, driver, queries, topics, keeps_up)
            again = handover.refused_since(plan) if plan else {}
            handover.stop()


def _watch(handover: Handover, driver: Driver, queries: Queries, topics: TopicsRead, keeps_up: Callable[[], bool]) -> Plan | None:
    """Watches the queries. Returns the plan for a new start: after a query has failed, when the first baseline is there, or when
    the registry has a schema whose id was refused. Returns None when a stop was requested. Raises JobError if a new start does
    not help, or if the topic was deleted and made anew."""
    looked = time.monotonic()
    while not handover.wait(driver.wait):
        if failed := handover.look(keeps_up):
            driver.report(state="swapping")
            topics.look()  # what then fails says less about the reason
            reached = handover.running.generation.stretch.reached
            return queries.plan_after_failure(failed.query.exception(), failed.plan, reached)
        if plan := queries.plan_with_first_baseline(handover.running.plan):
            driver.report(state="swapping")
            return plan  # without a handover: so far no reading could be flagged
        driver.report(**_figures(handover.running), last_error=handover.failure or queries.unread or topics.few_cores)
        if time.monotonic() - looked >= SELDOM:
            topics.look()
            if plan := handover.plan_with_refused():
                driver.report(state="swapping")
                return plan
            looked = time.monotonic()
    driver.report(state="stopping")
    return None


def _figures(turn: Turn) -> dict:
    """Of the query in force, for the heartbeat."""
    return {
        "state": "starting" if turn.live_at is None else "running",
        "generation": turn.generation.number,
        "baseline_version": turn.plan.baseline_version,
    }


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


if __name__ == "__main__":
    settings.run(main)
