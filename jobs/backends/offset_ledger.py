"""Which offsets of a topic a table's commits reach, and which are yet to be archived.

A commit's note says how far it goes. So a run that is repeated, or killed at any point, leaves the same table.
"""

from jobs.backends import kafka, tables
from jobs.errors import JobError

STEP = 5_000_000  # records: some 150 MB in memory


def pending(available: dict[int, kafka.Range], done: dict[int, int], topic: str, declaration: str) -> dict[int, kafka.Range]:
    """The offsets of each partition that are yet to be archived. Raises JobError where the topic has already lost some.

    declaration: the file that says how long the topic keeps its records.
    """
    ranges = {}
    for partition, each in available.items():
        start = done.get(partition, each.start)
        if start < each.start:
            raise JobError(
                f"topic {topic}, partition {partition}: offsets {start} to {each.start - 1} were deleted before they were "
                f"archived; raise retention_days in {declaration} and replay that span from its source"
            )
        if start > each.end:
            raise JobError(
                f"topic {topic}, partition {partition}: archived up to offset {start}, but the topic ends at {each.end}; "
                "the topic was deleted and created again: archive it as a new one, or restore it"
            )
        ranges[partition] = kafka.Range(start, each.end)
    return ranges


def commit_of(table: tables.Table, topic: str, step: dict[int, kafka.Range]) -> tuple[dict, dict[str, str]]:
    """For the commit of a step: its note, how far it reaches, and the options with which Delta makes it only once."""
    ends = archived(table) | {partition: each.end for partition, each in step.items()}
    # Delta skips a commit of the same application with a version it knows, so two runs at once archive a step only once.
    once = {"txnAppId": f"archive {topic}", "txnVersion": str(sum(ends.values()))}
    return {"offsets": {str(partition): end for partition, end in sorted(ends.items())}}, once


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
    newest = table.newest_commit_with("offsets")
    return {int(partition): end for partition, end in newest.note["offsets"].items()} if newest else {}


def size(ranges: dict[int, kafka.Range]) -> int:
    """Records in these ranges."""
    return sum(each.end - each.start for each in ranges.values())
