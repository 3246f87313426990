"""Repair summaries: counts in the metric events that came too late for the state of a query of `metric_summaries`, and the
summaries that came too late for that of its rollups.

First, what came into the events' topic since the last run is archived. Then the windows of late events are computed again from
all their archived events: the declared query itself runs as a batch. The rollups of these windows, and of late summaries, follow
in the same way. A row that differs from the topic's is written as its next Revision. The archive's commits say how far this has
come, so a run that was killed can be repeated and writes nothing twice.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contracts import avro
from contracts.queries import Query, load_queries
from contracts.query_io import Input, Output
from jobs.backends import kafka, late_records, settings, spark
from jobs.backends.late_records import output_of, rollups_of
from jobs.backends.metric_events import Events
from jobs.backends.registry import Registry
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.formats import query_records
from jobs.transforms.summary_changes import PLACE, beside, differs


def main(platform: Platform) -> None:
    arguments = settings.query_parser(__doc__)
    settings.add_run_id(arguments)
    options = arguments.parse_args()
    declared = load_queries(options.queries)
    query = _summaries(declared, options.query)
    events, rolled_up = Events(platform, query), rollups_of(declared, query)
    # Looked up first, so that the events of all that is late by now are archived in this run.
    todo = list(late_records.not_counted_in(platform, [query, *rolled_up], events.table))
    session = spark.with_state(spark.session(f"repair_summaries {query.name}", platform))
    events.archive(session, options.run_id)
    for late in todo:
        print(f"{late.output.topic}: {late.size:,} {late.what} to count in", flush=True)
        for step in late.steps:
            places = _decoded(session, platform, late.output, step).select(*late.place).distinct().cache()
            fewer = _repair(session, platform, query, rolled_up, events, places, of_events=late.of_events)
            note = late_records.note(events.table, late, step) | {"run_id": options.run_id, "fewer": fewer}
            events.table.commit_note(note, after=events.table.version())
    # Of the run and not of this try alone: a retry has nothing left to do, and must not look as if all were well.
    notes = (commit.note for commit in events.table.commits() if commit.note.get("run_id") == options.run_id)
    if wrong := [name for note in notes for name in note.get("fewer", ())]:
        raise JobError(
            f"events/{events.source.topic} holds fewer events of {len(wrong)} summaries than the stream counted; these were left "
            f"as they are: {', '.join(wrong[:5])}. Archiving began after the topic had deleted the others"
        )


def _repair(
    session: SparkSession,
    platform: Platform,
    query: Query,
    rolled_up: list[Query],
    events: Events,
    late: DataFrame,
    *,
    of_events: bool,
) -> list[str]:
    """Writes the summaries that late events are of, in these places (PLACE), and the rollups of their windows, where they are
    others now. Late summaries are right as they are.

    Those for which less is archived than the stream had counted stay as they are; their names.
    """
    output = output_of(query, "metric_summary")
    known = _newest(session, platform, output).cache()
    windows, late_events = late.select("WindowStart").distinct(), late if of_events else late.limit(0)
    # With the late ones those whose rows the topic holds no longer: rollups are merged from all.
    missing = events.places(session, windows).join(known, PLACE, "left_anti")
    of_these = query_records.result(query, {"metrics": events.of(session, late_events.union(missing).distinct())})
    found = beside(of_these.where("Revision IS NOT NULL"), known).cache()
    fewer = F.coalesce(F.col("_known")["Count"] > F.col("Count"), F.lit(False))
    revision = F.coalesce(F.col("_known")["Revision"], F.lit(0)) + 1
    changed = found.where(~fewer & differs()).withColumn("Revision", revision).drop("_known").cache()
    _write(platform, query, output, changed.join(late_events, PLACE, "left_semi"))
    as_before = known.join(windows, "WindowStart", "left_semi").join(changed, PLACE, "left_anti")
    members = as_before.unionByName(changed.select(known.columns)).withColumn("RowTime", F.current_timestamp())
    for rollups in rolled_up:
        above = output_of(rollups, "metric_summary")
        compared = beside(query_records.result(rollups, {"summaries": members}), _newest(session, platform, above))
        _write(platform, rollups, above, compared.where(differs()).drop("_known"))
    return [f"{row.Key} at {row.WindowStart.isoformat()}Z" for row in found.where(fewer).select(PLACE).collect()]


def _newest(session: SparkSession, platform: Platform, output: Output) -> DataFrame:
    """The newest row of each key and window on a topic of summaries."""
    all_ = _decoded(session, platform, output, kafka.available(platform, output.topic))
    newest = all_.groupBy("Row.Key", "Row.WindowStart").agg(F.max_by("Row", "KafkaOffset").alias("Row"))
    return newest.select("Row.*").drop("RowTime", "RowOffset")


def _decoded(session: SparkSession, platform: Platform, output: Output, ranges: dict[int, kafka.Range]) -> DataFrame:
    source = Input.model_validate({"topic": output.topic, "record": output.record})
    writers = {name: Registry(platform).writers(name, refused=None) for name in query_records.subjects(source)}
    return query_records.decode(kafka.read_ranges(session, platform, output.topic, ranges), source, writers).where(
        "Error IS NULL"
    )


def _write(platform: Platform, query: Query, output: Output, rows: DataFrame) -> None:
    registry, rows = Registry(platform), rows.cache()
    ids = {each.topic: registry.id_of(avro.subject(each.topic), avro.schema(each.record)) for each in query.outputs}
    query_records.encode(rows, query, ids).write.format("kafka").options(**kafka.producer_options(platform)).save()
    print(f"{output.topic}: {rows.count():,} rows written again", flush=True)


def _summaries(declared: dict[str, Query], name: str) -> Query:
    known = [each for each, query in declared.items() if query.transform == "metric_summaries"]
    if name not in known:
        raise JobError(f"--query {name}: no query with transform: metric_summaries; these are: {', '.join(known) or 'none'}")
    return declared[name]


if __name__ == "__main__":
    settings.run(main)
