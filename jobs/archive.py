"""Archive: what came into a feed's topic since the last archive becomes rows of history/<feed>, in bounded steps.

The offsets that a commit reaches stand in that commit's own note, so a run repeated or killed at any point leaves the same
table. A reading is identified by (ServiceName, Timestamp); of two for one identity the one that the broker took later stays, as
a correction. Late readings become part of their own date.
"""

import datetime as dt

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contracts import avro, placed_by
from contracts.feeds import Feed
from jobs.backends import continuity, history_table, kafka, offset_ledger, settings, spark, tables
from jobs.backends.registry import Registry
from jobs.backends.settings import Platform
from jobs.backends.topics import Topic, topic_now
from jobs.formats import dead_letters, feed_records
from jobs.transforms.history_rows import placed


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    arguments.add_argument(
        "--step",
        type=settings.positive,
        default=offset_ledger.STEP,
        metavar="RECORDS",
        help=f"at most so many in one commit (default {offset_ledger.STEP:,})",
    )
    options = arguments.parse_args()
    feed: Feed = options.feed
    table = history_table.opened(platform, feed)
    topic = topic_now(platform, feed.topic)
    pending = offset_ledger.pending(topic, offset_ledger.position(table), continuity.remedy_of_feed(feed.name))
    todo = offset_ledger.steps(pending, options.step)
    waiting = sum(offset_ledger.size(step) for step in todo)
    print(f"{feed.topic}: {waiting:,} records to archive", flush=True)
    if not todo:
        return
    session = spark.session(f"archive {feed.name}", platform)
    writers = Registry(platform).writers(avro.subject(feed.topic), refused=None)
    done = 0
    for step in todo:
        records = kafka.read_ranges(session, platform, feed.topic, step)
        _archive(session, platform, feed, topic, feed_records.decode(records, feed, writers), step, options.run_id)
        done += offset_ledger.size(step)
        print(f"{feed.topic}: {done:,} of {waiting:,} records archived ({100 * done // waiting} %)", flush=True)


def _archive(
    session: SparkSession,
    platform: Platform,
    feed: Feed,
    topic: Topic,
    decoded: DataFrame,
    step: dict[int, kafka.Range],
    run_id: str,
) -> None:
    """One step: bad records to the dead-letter topic, then readings to history, in one commit that says how far it goes."""
    table = tables.history(platform, feed)
    wrong = F.col("Error").isNotNull()
    # The bytes of a good record are not needed any more, so they are not cached beside what was read from them.
    read = decoded.withColumns({name: F.when(wrong, F.col(name)) for name in ("Key", "Bytes")}).cache()
    bad = read.where(wrong)
    refused = bad.count()
    if refused:
        bad.select(*dead_letters.letter(feed.topic)).write.format("kafka").options(**kafka.producer_options(platform)).save()
    note, once = offset_ledger.commit_of(table, topic, step)
    readings = placed(read.where(~wrong), feed.timezone, feed.interval_seconds)
    note |= {"run_id": run_id} | placed_by.note_of(feed)
    merged = history_table.merge(session, table, readings, note, today=dt.datetime.now(feed.zone).date(), **once)
    read.unpersist()
    print(
        f"history/{feed.table}: version {table.version()}, {merged}; {refused:,} records to {feed.dead_letter_topic}", flush=True
    )


if __name__ == "__main__":
    settings.run(main)
