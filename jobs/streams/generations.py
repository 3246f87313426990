"""The generations of a stream: queries that take turns, each from offsets of its own, each with a checkpoint of its own.

A generation scores its topic from where it begins. The next one begins at or before the offset that this one reaches, so
together they leave nothing out: see `handover.py`. The checkpoints that are there tell where a driver must go on, whichever
moment a kill has hit.

    checkpoint/<number>/    of one generation, as Spark lays it out: see `checkpoint.py`
    checkpoint/.<number>    a generation that is being made or removed; nothing reads it
"""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jobs.backends.continuity import Position
from jobs.backends.topics import Topic
from jobs.streams.checkpoint import Checkpoint

Offsets = dict[int, int]  # the next offset to read, by partition


@dataclass(frozen=True)
class Stretch:
    """The offsets of one generation: where it began, and up to where its work is committed."""

    begin: Offsets
    reached: Offsets


def covered(stretches: Iterable[Stretch]) -> Offsets:
    """Up to where all is committed, by what generations, oldest first, have committed of a topic. Empty without generations.

    A generation counts from where it began only if those before it came that far: else there is a gap between them. A partition
    that no earlier one knows was added to the topic, and is read from its beginning.
    """
    reached: Offsets = {}
    for stretch in stretches:
        for partition, begin in stretch.begin.items():
            so_far = reached.get(partition, begin)
            reached[partition] = max(so_far, stretch.reached.get(partition, begin)) if begin <= so_far else so_far
    return reached


def begin_of_next(ends: Offsets, firsts: Offsets, known: Iterable[int]) -> Offsets:
    """Where the next generation begins: at the topic's ends, but in partitions that the one before does not know at the first
    offset that they hold."""
    known = set(known)
    return {partition: end if partition in known else firsts[partition] for partition, end in ends.items()}


def has_reached(reached: Offsets, begin: Offsets) -> bool:
    """Whether a generation that has committed so much can leave the rest to the one that began there."""
    return all(offset >= begin.get(partition, 0) for partition, offset in reached.items())


@dataclass(frozen=True)
class Generation:
    """One of them, on disk."""

    folder: Path
    topic: str

    @property
    def number(self) -> int:
        return int(self.folder.name)

    @property
    def begin(self) -> Offsets:
        return Checkpoint(self.folder).begin(self.topic)

    @property
    def topic_id(self) -> str:
        """Of the topic whose offsets these are; empty if the file that keeps it is gone or damaged."""
        return Checkpoint(self.folder).topic_ids.get(self.topic, "")

    @property
    def stretch(self) -> Stretch:
        reached = Checkpoint(self.folder).reached() or {}
        return Stretch(self.begin, reached.get(self.topic, self.begin))


class Generations:
    """Those of one stream, in the folder of its checkpoints. One process at a time changes them."""

    def __init__(self, folder: Path, topic: str):
        self._folder, self.topic = folder, topic

    def all(self) -> list[Generation]:
        """Oldest first."""
        numbers = sorted(int(each.name) for each in self._folder.glob("[0-9]*"))
        return [Generation(self._folder / str(number), self.topic) for number in numbers]

    def position(self, topic: str) -> Position:
        """Up to where all of the topic is committed, and the id of the topic that the newest generation reads. Offsets of another
        topic of that name say nothing of this one."""
        known = self.all()
        topic_id = next((each.topic_id for each in reversed(known) if each.topic_id), "")
        return Position(covered(each.stretch for each in known if each.topic_id in ("", topic_id)), topic_id)

    def note(self, topics: list[Topic]) -> None:
        """Nothing to do: each generation notes its topic when it is made."""

    def go_on_at(self, topic: Topic, offsets: Offsets) -> None:
        self.begin_anew(offsets, topic.id)

    def new(self, begin: Offsets, topic_id: str) -> Generation:
        """The next generation; it is there as a whole or not at all."""
        number = max((each.number for each in self.all()), default=0) + 1
        made = Checkpoint(self._folder / f".{number}")
        shutil.rmtree(made.folder, ignore_errors=True)
        made.begin_at(self.topic, begin)
        made.note_topic_ids({self.topic: topic_id})
        return Generation(made.folder.rename(self._folder / str(number)), self.topic)

    def begin_anew(self, begin: Offsets, topic_id: str) -> Generation:
        """A generation that goes on alone from there; all earlier ones go."""
        made = self.new(begin, topic_id)
        self.keep_only(made)
        return made

    def adopt(self) -> None:
        """Go on from the checkpoint of one query that an earlier release left in the folder itself."""
        left = Checkpoint(self._folder)
        if (self._folder / "metadata").exists() and (reached := (left.reached() or {}).get(self.topic)):
            self.begin_anew(reached, left.topic_ids.get(self.topic, ""))

    def keep_only(self, generation: Generation) -> None:
        """All else in the folder goes. No other query must run. Each generation is gone at once, so that nobody reads the half of
        a checkpoint; the newest first, as one without those before it would hide the gap between them."""
        for each in reversed(self.all()):
            if each != generation:
                each.folder.rename(self._folder / f".{each.number}")
        for left in self._folder.iterdir():
            if left != generation.folder:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
