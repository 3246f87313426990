"""Which offsets of a topic a table's commits reach, and which are yet to be archived.

A commit's note says how far it goes. So a run that is repeated, or killed at any point, leaves the same table.
"""

from jobs.backends import continuity, kafka, tables
from jobs.backends.continuity import Position
from jobs.backends.topics import Topic
from jobs.errors import JobError

SKIPPED = "skipped"  # in the note of the commit with which a person went on in spite of what was lost
STEP = 5_000_000  # records: some 150 MB in memory


def pending(topic: Topic, position: Position, remedy: str) -> dict[int, kafka.Range]:
    """The offsets of each partition that are yet to be archived. Raises JobError, with the remedy, where some are lost."""
    if lost := continuity.gaps(topic, position):
        raise JobError(f"{'; '.join(lost)}; {remedy}")
    starts = {partition: position.offsets.get(partition, each.start) for partition, each in topic.ranges.items()}
    return {partition: kafka.Range(starts[partition], each.end) for partition, each in topic.ranges.items()}


def commit_of(table: tables.Table, topic: Topic, step: dict[int, kafka.Range]) -> tuple[dict, dict[str, str]]:
    """For the commit of a step: its note, how far it reaches, and the options with which Delta makes it only once."""
    ends = archived(table) | {partition: each.end for partition, each in step.items()}
    # Delta skips a commit of the same application with a version it knows, so two runs at once archive a step only once. After a
    # topic was made anew offsets are small again: then it is another application.
    skipped = table.newest_commit_with(SKIPPED)
    application = f"archive {topic.name}{f' since {skipped.version}' if skipped else ''}"
    return _note(topic, ends), {"txnAppId": application, "txnVersion": str(sum(ends.values()))}


def skip_lost(table: tables.Table, topic: Topic, run_id: str) -> list[str]:
    """Have the archive go on with what the topic holds, by a commit that says what is lost. Returns that; empty if nothing is."""
    reached = position(table)
    if lost := continuity.gaps(topic, reached):
        note = _note(topic, continuity.after_gaps(topic, reached)) | {"run_id": run_id, SKIPPED: lost}
        table.commit_note(note, after=table.version())
    return lost


def _note(topic: Topic, ends: dict[int, int]) -> dict:
    return {"offsets": {str(partition): end for partition, end in sorted(ends.items())}, "topic_id": topic.id}


def steps(ranges: dict[int, kafka.Range], most: int = STEP) -> list[dict[int, kafka.Range]]:
    """The ranges cut into steps of at most about `most` records, all partitions advancing alike, as time does in them."""
    waiting = size(ranges)
    count = -(-waiting // most)

    def cut(each: kafka.Range, number: int) -> int:
        return each.start + (each.end - each.start) * number // count

    return [
        {partition: kafka.Range(cut(each, number), cut(each, number + 1)) for partition, each in ranges.items()}
        for number in range(count)
    ]


def archived(table: tables.Table) -> dict[int, int]:
    """The offset up to which each partition is archived."""
    return position(table).offsets


def position(table: tables.Table) -> Position:
    """How far the archive has come."""
    newest = table.newest_commit_with("offsets")
    if newest is None:
        return Position({})
    return Position({int(partition): end for partition, end in newest.note["offsets"].items()}, newest.note.get("topic_id", ""))


def size(ranges: dict[int, kafka.Range]) -> int:
    """Records in these ranges."""
    return sum(each.end - each.start for each in ranges.values())
