"""Archive: what came into a feed's topic since the last archive becomes rows of history/<feed>, in bounded steps.

The offsets that a commit reaches stand in that commit's own note, so a run repeated or killed at any point leaves the same
table. A reading is identified by (ServiceName, Timestamp); of two for one identity the later offset wins: it is a correction.
Late readings become part of their own date.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contracts import avro
from contracts.feeds import Feed
from jobs import history, kafka, lake, readings, settings, spark, wire
from jobs.settings import JobError, Platform
from jobs.transforms.history import placed

STEP = 5_000_000  # records: some 150 MB in memory


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    arguments.add_argument(
        "--step",
        type=settings.positive,
        default=STEP,
        metavar="RECORDS",
        help=f"at most so many in one commit (default {STEP:,})",
    )
    options = arguments.parse_args()
    feed: Feed = options.feed
    table = lake.history(platform, feed)
    held, declaration = kafka.available(platform, feed.topic), f"schemas/feeds/{feed.name}.yaml"
    todo = steps(pending(held, archived(table), feed.topic, declaration), options.step)
    waiting = sum(size(step) for step in todo)
    print(f"{feed.topic}: {waiting:,} records to archive", flush=True)
    if not todo:
        return
    session = spark.session(f"archive {feed.name}", platform)
    writers = kafka.Registry(platform).writers(avro.subject(feed.topic), refused=None)
    done = 0
    for step in todo:
        records = kafka.read_ranges(session, platform, feed.topic, step)
        _archive(session, platform, feed, readings.decode(records, feed, writers), step, options.run_id)
        done += size(step)
        print(f"{feed.topic}: {done:,} of {waiting:,} records archived ({100 * done // waiting} %)", flush=True)


def _archive(
    session: SparkSession, platform: Platform, feed: Feed, decoded: DataFrame, step: dict[int, kafka.Range], run_id: str
) -> None:
    """One step: bad records to the dead-letter topic, then readings to history, in one commit that says how far it goes."""
    table = lake.history(platform, feed)
    wrong = F.col("Error").isNotNull()
    # A good record's bytes have said all they had to: they are not held in memory with what they said.
    read = decoded.withColumns({name: F.when(wrong, F.col(name)) for name in ("Key", "Bytes")}).cache()
    bad = read.where(wrong)
    refused = bad.count()
    if refused:
        bad.select(*wire.dead_letter(feed.topic)).write.format("kafka").options(**kafka.producer_options(platform)).save()
    note, once = reached(table, feed.topic, step)
    readings = placed(read.where(~wrong), feed.timezone, feed.interval_seconds)
    merged = history.merge(session, table, readings, {"run_id": run_id} | note, **once)
    read.unpersist()
    print(
        f"history/{feed.table}: version {table.version()}, {merged}; {refused:,} records to {feed.dead_letter_topic}", flush=True
    )


def pending(held: dict[int, kafka.Range], done: dict[int, int], topic: str, declaration: str) -> dict[int, kafka.Range]:
    """The offsets of each partition that are yet to be archived. Raises JobError where the topic has already lost some.

    declaration: the file that says how long the topic keeps its records.
    """
    ranges = {}
    for partition, each in held.items():
        start = done.get(partition, each.start)
        if start < each.start:
            raise JobError(
                f"topic {topic}, partition {partition}: offsets {start} to {each.start - 1} were deleted before they were "
                f"archived; raise retention_days in {declaration} and replay that span from its source"
            )
        if start > each.end:
            raise JobError(
                f"topic {topic}, partition {partition}: archived up to offset {start}, but the topic ends at {each.end}; "
                "the topic was deleted and made anew: archive it as a new one, or restore it"
            )
        ranges[partition] = kafka.Range(start, each.end)
    return ranges


def reached(table: lake.Table, topic: str, step: dict[int, kafka.Range]) -> tuple[dict, dict[str, str]]:
    """What the commit of a step notes (how far it goes), and the options by which Delta takes it once."""
    ends = archived(table) | {partition: each.end for partition, each in step.items()}
    # Delta leaves out a commit of the same application whose version it has seen: two runs at once archive a step once.
    once = {"txnAppId": f"archive {topic}", "txnVersion": str(sum(ends.values()))}
    return {"offsets": {str(partition): end for partition, end in sorted(ends.items())}}, once


def steps(ranges: dict[int, kafka.Range], most: int) -> list[dict[int, kafka.Range]]:
    """The ranges cut into steps of at most about `most` records, all partitions advancing alike, as time does in them."""
    waiting = size(ranges)
    count = -(-waiting // most)

    def cut(each: kafka.Range, number: int) -> int:
        return each.start + (each.end - each.start) * number // count

    return [
        {partition: kafka.Range(cut(each, number), cut(each, number + 1)) for partition, each in ranges.items()}
        for number in range(count)
    ]


def archived(table: lake.Table) -> dict[int, int]:
    """The offset up to which each partition is archived."""
    newest = table.newest("offsets")
    return {int(partition): end for partition, end in newest.note["offsets"].items()} if newest else {}


def size(ranges: dict[int, kafka.Range]) -> int:
    """Records in these ranges."""
    return sum(each.end - each.start for each in ranges.values())


if __name__ == "__main__":
    settings.run(main)
