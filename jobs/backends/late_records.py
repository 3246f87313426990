"""What came too late for the state of a query of summaries or rollups: what of it is yet to be counted in, and how far that is.

How far stands in the notes of the commits of the events' archive.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from contracts.queries import Query
from contracts.query_io import Output
from jobs.backends import continuity, kafka, offset_ledger, tables
from jobs.backends.continuity import Position
from jobs.backends.metric_events import window
from jobs.backends.settings import Platform
from jobs.backends.topics import topic_now
from jobs.errors import JobError

LATE_EVENT, LATE_SUMMARY = "late_metric_event", "late_metric_summary"  # contracts of what came too late
COUNTED_IN, TOPIC_IDS = "counted_in", "counted_in_topic_ids"  # in a commit's note


@dataclass(frozen=True)
class LateRecords:
    """Records of one topic of what came too late, that are yet to be counted in: in bounded steps."""

    output: Output
    topic_id: str
    steps: list[dict[int, kafka.Range]]

    @property
    def of_events(self) -> bool:
        """Or else of summaries."""
        return self.output.record == LATE_EVENT

    @property
    def place(self) -> list[Column]:
        """Key and WindowStart of the summary that each of its rows belongs to."""
        key, start = ("Key", window("Row.Timestamp")) if self.of_events else ("Member", F.col("Row.WindowStart"))
        return [F.col(f"Row.{key}").alias("Key"), start.alias("WindowStart")]

    @property
    def what(self) -> str:
        return "late events" if self.of_events else "late summaries"

    @property
    def size(self) -> int:
        return sum(map(offset_ledger.size, self.steps))


def not_counted_in(platform: Platform, queries: list[Query], table: tables.Table) -> Iterator[LateRecords]:
    """Of each of the queries' topics of what came too late; that of the events first."""
    for query in queries:
        output = _late_output(query)
        remedy = continuity.remedy_of_application(query.application)
        topic = topic_now(platform, output.topic)
        new = offset_ledger.pending(topic, _position(table, output.topic), remedy)
        yield LateRecords(output, topic.id, offset_ledger.steps(new))


def skip_lost(platform: Platform, queries: list[Query], table: tables.Table, run_id: str) -> list[str]:
    """Have the counting-in go on with what the topics of what came too late hold, by a commit that says what is lost.
    Returns that; empty if nothing is."""
    lost, done = [], _counted_in(table)
    for query in queries:
        topic = topic_now(platform, _late_output(query).topic)
        reached = _position(table, topic.name)
        if gaps := continuity.gaps(topic, reached):
            done[topic.name] = Position(continuity.after_gaps(topic, reached), topic.id)
            lost += gaps
    if lost:
        table.commit_note(_note(done) | {"run_id": run_id, offset_ledger.SKIPPED: lost}, after=table.version())
    return lost


def _late_output(query: Query) -> Output:
    return output_of(query, LATE_EVENT if query.transform == "metric_summaries" else LATE_SUMMARY)


def _position(table: tables.Table, topic: str) -> Position:
    return _counted_in(table).get(topic, Position({}))


def _counted_in(table: tables.Table) -> dict[str, Position]:
    """By topic, up to where what is late is counted in."""
    newest = table.newest_commit_with(COUNTED_IN)
    note = newest.note if newest else {COUNTED_IN: {}}
    ids = note.get(TOPIC_IDS, {})  # of an earlier release there are none
    return {
        topic: Position({int(partition): end for partition, end in ends.items()}, ids.get(topic, ""))
        for topic, ends in note[COUNTED_IN].items()
    }


def note(table: tables.Table, late: LateRecords, step: dict[int, kafka.Range]) -> dict:
    """What the note of a commit says of how far all is counted in, once this step is."""
    ends = {partition: each.end for partition, each in step.items()}
    reached = _position(table, late.output.topic).offsets | ends
    return _note(_counted_in(table) | {late.output.topic: Position(reached, late.topic_id)})


def _note(done: dict[str, Position]) -> dict:
    return {
        COUNTED_IN: {topic: {str(p): end for p, end in reached.offsets.items()} for topic, reached in done.items()},
        TOPIC_IDS: {topic: reached.topic_id for topic, reached in done.items()},
    }


def rollups_of(declared: dict[str, Query], query: Query) -> list[Query]:
    """The queries that merge the summaries of a query."""
    topic = output_of(query, "metric_summary").topic
    return [each for each in declared.values() if each.transform == "metric_rollups" and each.inputs["summaries"].topic == topic]


def output_of(query: Query, record: str) -> Output:
    for each in query.outputs:
        if each.record == record:
            return each
    raise JobError(f"query {query.name}: none of its outputs is a {record}")
