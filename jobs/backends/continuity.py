"""Whether a reader of a topic can go on where it was: a stream by its checkpoint, an archive by the notes of its table.

It can't if records were deleted before they were read, or the topic itself was. Nothing goes on by itself then: a reader that
skips what it can't read would look healthy. A person decides: see `jobs/skip_lost.py`.
"""

from dataclasses import dataclass

from jobs.backends.topics import Topic


@dataclass(frozen=True)
class Position:
    """How far a reader has come in a topic. offsets: the next one to read, by partition, empty if it has read nothing yet.
    topic_id: of the topic that it read, empty where nobody noted it."""

    offsets: dict[int, int]
    topic_id: str = ""


def gaps(topic: Topic, position: Position) -> list[str]:
    """What the reader can't read any more, in words; empty if it can go on."""
    if _made_anew(topic, position):
        return [f"topic {topic.name} was deleted and made anew: what was not read of the old one is lost"]
    found = []
    for partition, reached in sorted(position.offsets.items()):
        place, there = f"topic {topic.name}, partition {partition}", topic.ranges[partition]
        if reached < there.start:
            found.append(f"{place}: offsets {reached} to {there.start - 1} were deleted before they were read")
        elif reached > there.end:
            lost = "the brokers have lost records, or the topic was deleted and made anew"
            found.append(f"{place}: read up to offset {reached}, but it ends at {there.end}: {lost}")
    return found


def after_gaps(topic: Topic, position: Position) -> dict[int, int]:
    """Where the reader goes on to read all that is there: nothing is skipped that can be read, so some may be read again."""
    if _made_anew(topic, position):
        return {partition: each.start for partition, each in topic.ranges.items()}
    within = {partition: topic.ranges[partition] for partition in position.offsets}
    return {p: at if within[p].start <= at <= within[p].end else within[p].start for p, at in position.offsets.items()}


def remedy_of_feed(name: str) -> str:
    return _remedy(f"streams skip-lost {name}")


def remedy_of_application(name: str) -> str:
    return _remedy(f"queries skip-lost {name}")


def _remedy(command: str) -> str:
    return f"`sundial {command}` goes on with what is there"


def _made_anew(topic: Topic, position: Position) -> bool:
    return bool(position.offsets) and (
        position.topic_id not in ("", topic.id) or not position.offsets.keys() <= topic.ranges.keys()
    )
