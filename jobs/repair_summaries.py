"""Repair summaries: counts in the metric events that came too late for the state of a query of `metric_summaries`.

What came into the events' topic since the last run is archived. The windows that late events are of are computed anew from all
their archived events, by the declared query itself as a batch, and then the rollups of these windows by theirs. Of rows that
differ from the topic's the next Revision is written. How far this has come stands in the archive's commits; a run that was
killed is repeated, and writes nothing twice.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contracts import avro
from contracts.queries import Query, load_queries
from contracts.query_io import Input, Output
from jobs import archive, kafka, lake, rows, settings, spark
from jobs.metric_events import Events, window
from jobs.settings import JobError, Platform

PLACE = ["Key", "WindowStart"]
EXACT = ["Count", "Min", "Max", "Bins", "Counts"]  # of a summary; its percentiles follow from these
ROUNDING = 1e-9  # by which average and variance may differ, as parts that are merged in another order do


def main(platform: Platform) -> None:
    arguments = settings.query_parser(__doc__)
    settings.add_run_id(arguments)
    options = arguments.parse_args()
    declared = load_queries(options.queries)
    query = _summaries(declared, options.query)
    events, late = Events(platform, query), _output(query, "late_metric_event")
    # Looked up first, so that the events of all that is late by now are archived in this run.
    todo = archive.steps(_unrepaired(platform, query, late.topic, events.table), archive.STEP)
    session = spark.with_state(spark.session(f"repair_summaries {query.name}", platform))
    events.archive(session, options.run_id)
    print(f"{late.topic}: {sum(map(archive.size, todo)):,} late events to count in", flush=True)
    wrong: list[str] = []
    for step in todo:
        windows = _windows(session, platform, late, step).cache()
        wrong += _repair(session, platform, query, _rollups(declared, query), events, windows)
        done = _repaired(events.table) | {partition: each.end for partition, each in step.items()}
        note = {"run_id": options.run_id, "repaired": {str(partition): end for partition, end in sorted(done.items())}}
        events.table.remark(note, after=events.table.version())
    if wrong:
        raise JobError(
            f"events/{events.source.topic} holds fewer events of {len(wrong)} summaries than the stream counted; these were left "
            f"as they are: {', '.join(wrong[:5])}. Archiving began after the topic had deleted the others"
        )


def _repair(
    session: SparkSession, platform: Platform, query: Query, rolled_up: list[Query], events: Events, late: DataFrame
) -> list[str]:
    """Writes the summaries of these windows (PLACE), and the rollups that they are part of, where they are others now.

    Those for which less is archived than the stream had counted stay as they are; their names.
    """
    output = _output(query, "metric_summary")
    known = _newest(session, platform, output).cache()
    windows = late.select("WindowStart").distinct()
    # With the late ones those whose rows the topic holds no longer: rollups are merged from all.
    missing = events.places(session, windows).join(known, PLACE, "left_anti")
    of_these = rows.result(query, {"metrics": events.of(session, late.union(missing).distinct())})
    found = _beside(of_these.where("Revision IS NOT NULL"), known).cache()
    fewer = F.coalesce(F.col("_known")["Count"] > F.col("Count"), F.lit(False))
    told = _next(found.where(~fewer).join(late, PLACE, "left_semi")).cache()
    _write(platform, query, output, told)
    anew = found.where(~fewer).select(known.columns)
    members = anew.union(known.join(windows, "WindowStart", "left_semi").join(anew, PLACE, "left_anti"))
    clock = known.agg(F.max("WindowStart")).first()[0]
    for rollups in rolled_up:
        # Younger windows the stream itself still merges, from the summaries that were written just now.
        kept = F.make_dt_interval(mins=F.lit(rollups.parameters["retention_minutes"]))
        forgotten = members.where(F.col("WindowStart") + kept <= F.lit(clock))
        above = rollups.outputs[0]
        merged = _beside(rows.result(rollups, {"summaries": forgotten}), _newest(session, platform, above))
        _write(platform, rollups, above, _next(merged).cache())
    return [f"{row.Key} at {row.WindowStart.isoformat()}Z" for row in found.where(fewer).select(PLACE).collect()]


def _windows(session: SparkSession, platform: Platform, late: Output, step: dict[int, kafka.Range]) -> DataFrame:
    """The windows (PLACE) that late events are of."""
    events = _decoded(session, platform, late, step).select("Row.*")
    return events.select("Key", window("Timestamp").alias("WindowStart")).distinct()


def _newest(session: SparkSession, platform: Platform, output: Output) -> DataFrame:
    """The newest row of each key and window on a topic of summaries."""
    all_ = _decoded(session, platform, output, kafka.available(platform, output.topic))
    told = all_.groupBy("Row.Key", "Row.WindowStart").agg(F.max_by("Row", "KafkaOffset").alias("Row"))
    return told.select("Row.*").drop("RowTime", "RowOffset")


def _decoded(session: SparkSession, platform: Platform, output: Output, ranges: dict[int, kafka.Range]) -> DataFrame:
    source = Input(topic=output.topic, record=output.record)
    writers = {name: kafka.Registry(platform).writers(name, refused=None) for name in rows.subjects(source)}
    return rows.decode(kafka.read_ranges(session, platform, output.topic, ranges), source, writers).where("Error IS NULL")


def _beside(found: DataFrame, known: DataFrame) -> DataFrame:
    """Rows with what the topic holds in their place, `_known`, or null."""
    return found.join(known.select(*PLACE, F.struct("*").alias("_known")), PLACE, "left")


def _next(found: DataFrame) -> DataFrame:
    """Of rows `_beside` what is known, those that are others, with their next Revision."""
    known, size = F.col("_known"), F.greatest(F.abs("Min"), F.abs("Max"))
    same = F.abs(known["Average"] - F.col("Average")) <= ROUNDING * size
    same &= F.abs(known["Variance"] - F.col("Variance")) <= ROUNDING * size * size
    for name in EXACT:
        same &= known[name] == F.col(name)
    others = found.where(~F.coalesce(same, F.lit(False)))
    return others.withColumn("Revision", F.coalesce(known["Revision"], F.lit(0)) + 1).drop("_known")


def _write(platform: Platform, query: Query, output: Output, told: DataFrame) -> None:
    registry = kafka.Registry(platform)
    ids = {each.topic: registry.id_of(avro.subject(each.topic), avro.schema(each.record)) for each in query.outputs}
    rows.encode(told, query, ids).write.format("kafka").options(**kafka.producer_options(platform)).save()
    print(f"{output.topic}: {told.count():,} rows written anew", flush=True)


def _unrepaired(platform: Platform, query: Query, topic: str, table: lake.Table) -> dict[int, kafka.Range]:
    held = kafka.available(platform, topic)
    return archive.pending(held, _repaired(table), topic, f"schemas/queries/{query.name}.yaml")


def _repaired(table: lake.Table) -> dict[int, int]:
    """The offset up to which the late events of each partition are counted in."""
    newest = table.newest("repaired")
    return {int(partition): end for partition, end in newest.note["repaired"].items()} if newest else {}


def _summaries(declared: dict[str, Query], name: str) -> Query:
    known = [each for each, query in declared.items() if query.transform == "metric_summaries"]
    if name not in known:
        raise JobError(f"--query {name}: no query with transform: metric_summaries; these are: {', '.join(known) or 'none'}")
    return declared[name]


def _output(query: Query, record: str) -> Output:
    for each in query.outputs:
        if each.record == record:
            return each
    raise JobError(f"query {query.name}: none of its outputs is a {record}")


def _rollups(declared: dict[str, Query], query: Query) -> list[Query]:
    """The queries that merge its summaries."""
    topic = _output(query, "metric_summary").topic
    return [each for each in declared.values() if each.transform == "metric_rollups" and each.inputs["summaries"].topic == topic]


if __name__ == "__main__":
    settings.run(main)
