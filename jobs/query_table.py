"""What the tables that a query writes hold, or held once it had read no further than some offsets, or than a moment.

The declared query itself runs, as a batch over its topics from their beginnings to there, so that there is one definition of
the fold. Each row that is left is printed as a line of JSON: topic, key, value.
"""

import argparse
import datetime as dt
import json
import re
from collections.abc import Iterable

from pyspark.sql import Row

from contracts.queries import Query, load_query
from jobs.backends import kafka, settings, spark
from jobs.backends.kafka import Range
from jobs.backends.registry import Registry
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.formats import query_records


def main(platform: Platform) -> None:
    arguments = settings.query_parser(__doc__)
    ends = arguments.add_mutually_exclusive_group()
    ends.add_argument("--until", type=_places, metavar="PARTITION:OFFSET,…", help="the first offset not read, of each partition")
    ends.add_argument("--at", type=settings.instant, metavar="TIME", help="ISO 8601: what came to the topics before it")
    options = arguments.parse_args()
    query = _of_tables(load_query(options.query, options.queries))
    available = {topic: kafka.available(platform, topic) for topic in sorted({each.topic for each in query.inputs.values()})}
    to_read = _ranges(available, _ends(platform, query, available, options.until, options.at))
    session = spark.with_state(spark.session(f"table {query.name}", platform))
    registry = Registry(platform)
    decoded = {}
    for alias, each in query.inputs.items():
        writers = {name: registry.writers(name, refused=None) for name in query_records.subjects(each)}
        decoded[alias] = query_records.decode(
            kafka.read_ranges(session, platform, each.topic, to_read[each.topic]), each, writers
        )
    # Partition by partition in their order: of a key's changes, which one partition holds, the last is the last here, too.
    written = query_records.records(query, decoded, {}).toLocalIterator()
    tables = {each.topic for each in query.outputs}
    for (topic, key), value in last(each for each in written if each.topic in tables).items():
        print(json.dumps({"topic": topic, "key": key.decode(), "value": json.loads(value)}, ensure_ascii=False), flush=True)


def last(records: Iterable[Row]) -> dict[tuple[str, bytes], bytes]:
    """What a reader that upserts has of records (topic, key, value): the last value by topic and key, unless that is null."""
    kept = {}
    for each in records:
        place = each.topic, bytes(each.key)
        kept.pop(place, None)
        if each.value is not None:
            kept[place] = bytes(each.value)
    return kept


def _of_tables(query: Query) -> Query:
    """The query with the outputs that are tables, in JSON."""
    tables = tuple(each.model_copy(update={"encoding": "json"}) for each in query.outputs if each.compacted)
    if not tables:
        raise JobError(f"query {query.name} writes no table: none of its outputs is compacted")
    if query.begins_with:
        raise JobError(f"query {query.name} can't be run again: it began with more than its topics hold")
    for alias, each in query.inputs.items():
        if each.time == "processing":
            raise JobError(f"query {query.name} can't be run again: inputs.{alias} has processing time, which was another then")
    return query.model_copy(update={"outputs": tables})


EndOffsets = dict[str, dict[int, int]]  # of each topic's partitions


def _ends(
    platform: Platform, query: Query, available: dict[str, dict[int, Range]], until: dict[int, int] | None, at: dt.datetime | None
) -> EndOffsets:
    """Where to end."""
    if at and at > dt.datetime.now(dt.UTC):
        raise JobError(f"--at {at.isoformat()} is yet to come")
    if at:
        return {topic: kafka.offsets_since(platform, topic, at) for topic in available}
    if not until:
        return {topic: {partition: each.end for partition, each in partitions.items()} for topic, partitions in available.items()}
    [(topic, partitions), *others] = available.items()
    if others:
        raise JobError(f"query {query.name} reads {', '.join(available)}: --until is for one topic; name a moment with --at")
    if until.keys() != partitions.keys():
        whole = ",".join(f"{partition}:{each.end}" for partition, each in partitions.items())
        raise JobError(f"--until must name each partition of {topic}, and no other; all that it holds is --until {whole}")
    return {topic: until}


def _ranges(available: dict[str, dict[int, Range]], ends: EndOffsets) -> dict[str, dict[int, Range]]:
    """All from the beginnings to the ends. Raises JobError where a topic no longer, or not yet, holds that."""
    for topic, partitions in available.items():
        for partition, each in partitions.items():
            if each.start:
                raise JobError(
                    f"topic {topic}, partition {partition}: offsets 0 to {each.start - 1} were deleted, without which there "
                    "is no table; retention_days: forever in its declaration keeps those to come"
                )
            if (end := ends[topic][partition]) > each.end:
                raise JobError(f"topic {topic}, partition {partition}: offset {end} is beyond its end, which is {each.end}")
    return {topic: {p: Range(0, ends[topic][p]) for p in partitions} for topic, partitions in available.items()}


def _places(text: str) -> dict[int, int]:
    if not re.fullmatch(r"\d{1,9}:\d{1,18}(,\d{1,9}:\d{1,18})*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of PARTITION:OFFSET like 0:57,1:40")
    return {int(partition): int(offset) for partition, offset in (each.split(":") for each in text.split(","))}


if __name__ == "__main__":
    settings.run(main)
