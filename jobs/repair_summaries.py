"""Repair summaries: counts in the metric events that came too late for the state of a query of `metric_summaries`, and the
summaries that came too late for that of its rollups.

What came into the events' topic since the last run is archived. The windows that late events are of are computed anew from all
their archived events, by the declared query itself as a batch, and then the rollups of these windows, and of late summaries, by
theirs. Of rows that differ from the topic's the next Revision is written. How far this has come stands in the archive's commits;
a run that was killed is repeated, and writes nothing twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from contracts import avro
from contracts.queries import Query, load_queries
from contracts.query_io import Input, Output
from jobs import archive, kafka, lake, rows, settings, spark
from jobs.metric_events import Events, window
from jobs.settings import JobError, Platform

PLACE = ["Key", "WindowStart"]
LATE_EVENT, LATE_SUMMARY = "late_metric_event", "late_metric_summary"  # contracts of what came too late
COUNTED_IN = "counted_in"  # in a commit's note
EXACT = ["Count", "Min", "Max", "Bins", "Counts"]  # of a summary; its percentiles follow from these
ROUNDING = 1e-9  # by which average and variance may differ, as parts that are merged in another order do


def main(platform: Platform) -> None:
    arguments = settings.query_parser(__doc__)
    settings.add_run_id(arguments)
    options = arguments.parse_args()
    declared = load_queries(options.queries)
    query = _summaries(declared, options.query)
    events, rolled_up = Events(platform, query), _rollups(declared, query)
    # Looked up first, so that the events of all that is late by now are archived in this run.
    todo = list(_unrepaired(platform, [query, *rolled_up], events.table))
    session = spark.with_state(spark.session(f"repair_summaries {query.name}", platform))
    events.archive(session, options.run_id)
    for late in todo:
        print(f"{late.output.topic}: {late.size:,} {late.what} to count in", flush=True)
        for step in late.steps:
            places = _decoded(session, platform, late.output, step).select(*late.place).distinct().cache()
            fewer = _repair(session, platform, query, rolled_up, events, places, of_events=late.of_events)
            note = _reached(events.table, late, step) | {"run_id": options.run_id, "fewer": fewer}
            events.table.remark(note, after=events.table.version())
    # Of the run and not of this try alone: a retry has nothing left to do, and must not look as if all were well.
    notes = (commit.note for commit in events.table.commits() if commit.note.get("run_id") == options.run_id)
    if wrong := [name for note in notes for name in note.get("fewer", ())]:
        raise JobError(
            f"events/{events.source.topic} holds fewer events of {len(wrong)} summaries than the stream counted; these were left "
            f"as they are: {', '.join(wrong[:5])}. Archiving began after the topic had deleted the others"
        )


@dataclass(frozen=True)
class Late:
    """What is yet to be counted in of a topic of what came too late."""

    output: Output
    steps: list[dict[int, kafka.Range]]

    @property
    def of_events(self) -> bool:
        """Or else of summaries."""
        return self.output.record == LATE_EVENT

    @property
    def place(self) -> list[Column]:
        """PLACE of the summary that it is of, from its rows."""
        key, start = ("Key", window("Row.Timestamp")) if self.of_events else ("Member", F.col("Row.WindowStart"))
        return [F.col(f"Row.{key}").alias("Key"), start.alias("WindowStart")]

    @property
    def what(self) -> str:
        return "late events" if self.of_events else "late summaries"

    @property
    def size(self) -> int:
        return sum(map(archive.size, self.steps))


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
    output = _output(query, "metric_summary")
    known = _newest(session, platform, output).cache()
    windows, anew = late.select("WindowStart").distinct(), late if of_events else late.limit(0)
    # With the late ones those whose rows the topic holds no longer: rollups are merged from all.
    missing = events.places(session, windows).join(known, PLACE, "left_anti")
    of_these = rows.result(query, {"metrics": events.of(session, anew.union(missing).distinct())})
    found = _beside(of_these.where("Revision IS NOT NULL"), known).cache()
    fewer = F.coalesce(F.col("_known")["Count"] > F.col("Count"), F.lit(False))
    revision = F.coalesce(F.col("_known")["Revision"], F.lit(0)) + 1
    told = found.where(~fewer & _differs()).withColumn("Revision", revision).drop("_known").cache()
    _write(platform, query, output, told.join(anew, PLACE, "left_semi"))
    as_before = known.join(windows, "WindowStart", "left_semi").join(told, PLACE, "left_anti")
    members = as_before.unionByName(told.select(known.columns)).withColumn("RowTime", F.current_timestamp())
    for rollups in rolled_up:
        above = _output(rollups, "metric_summary")
        beside = _beside(rows.result(rollups, {"summaries": members}), _newest(session, platform, above))
        _write(platform, rollups, above, beside.where(_differs()).drop("_known"))
    return [f"{row.Key} at {row.WindowStart.isoformat()}Z" for row in found.where(fewer).select(PLACE).collect()]


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


def _differs() -> Column:
    """Of rows `_beside` what is known, whether they are others."""
    known, size = F.col("_known"), F.greatest(F.abs("Min"), F.abs("Max"))
    same = F.abs(known["Average"] - F.col("Average")) <= ROUNDING * size
    same &= F.abs(known["Variance"] - F.col("Variance")) <= ROUNDING * size * size
    for name in EXACT:
        same &= known[name] == F.col(name)
    return ~F.coalesce(same, F.lit(False))


def _write(platform: Platform, query: Query, output: Output, told: DataFrame) -> None:
    registry, told = kafka.Registry(platform), told.cache()
    ids = {each.topic: registry.id_of(avro.subject(each.topic), avro.schema(each.record)) for each in query.outputs}
    rows.encode(told, query, ids).write.format("kafka").options(**kafka.producer_options(platform)).save()
    print(f"{output.topic}: {told.count():,} rows written anew", flush=True)


def _unrepaired(platform: Platform, queries: list[Query], table: lake.Table) -> Iterator[Late]:
    """Of each of the queries' topics of what came too late; that of the events first."""
    for query in queries:
        output = _output(query, LATE_EVENT if query.transform == "metric_summaries" else LATE_SUMMARY)
        held, done = kafka.available(platform, output.topic), _repaired(table).get(output.topic, {})
        new = archive.pending(held, done, output.topic, f"schemas/queries/{query.name}.yaml")
        yield Late(output, archive.steps(new, archive.STEP))


def _repaired(table: lake.Table) -> dict[str, dict[int, int]]:
    """The offset up to which what is late is counted in, by topic and partition."""
    newest = table.newest(COUNTED_IN)
    noted = newest.note[COUNTED_IN] if newest else {}
    return {topic: {int(partition): end for partition, end in ends.items()} for topic, ends in noted.items()}


def _reached(table: lake.Table, late: Late, step: dict[int, kafka.Range]) -> dict:
    """What the note of a commit says of how far all is counted in, once this step is."""
    done = _repaired(table)
    done[late.output.topic] = done.get(late.output.topic, {}) | {partition: each.end for partition, each in step.items()}
    return {COUNTED_IN: {topic: {str(p): end for p, end in ends.items()} for topic, ends in done.items()}}


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
