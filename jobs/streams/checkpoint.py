"""The checkpoint of a streaming query, in the layout that Spark gives it. This file alone knows that layout.

    metadata           the query's id, a new one for each new checkpoint
    sources/<n>/0      where each of the query's sources begins
    offsets/<batch>    where a batch ends in each source; written before Spark works on the batch
    commits/<batch>    that all of the batch is written
    state/             what operators with state keep

A file of offsets holds a version, what else Spark notes, and in its last lines the offsets of each source by topic and partition.
"""

import json
from dataclasses import dataclass
from pathlib import Path

Offsets = dict[str, dict[str, int]]  # by topic and partition


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint in a folder, whether it exists yet or not."""

    folder: Path

    @property
    def query_id(self) -> str:
        return json.loads((self.folder / "metadata").read_text())["id"]

    @property
    def state_folder(self) -> Path:
        return self.folder / "state"

    @property
    def has_begun(self) -> bool:
        """Whether it is fixed where the query begins to read."""
        return self._first_source.exists()

    @property
    def has_batches(self) -> bool:
        """Whether a batch has been planned."""
        return bool(self._batches("offsets"))

    def ends_of(self, batch: int) -> list[Offsets]:
        """Where a planned batch ends: of each source the offsets."""
        lines = (self.folder / "offsets" / str(batch)).read_text().splitlines()[2:]  # after version and metadata
        return [json.loads(line) for line in lines if line != "-"]

    def begins(self, topic: str) -> int | None:
        """The sum of the offsets at which a query of one source begins when it starts; None while that is not fixed."""
        planned = self._batches("offsets")
        file = self.folder / "offsets" / str(max(planned)) if planned else self._first_source
        return sum(_last_line(file)[topic].values()) if file.exists() else None

    def committed(self) -> int | None:
        """The sum of the offsets up to which the query's work is committed; None while it is not fixed where it begins.

        A topic that the query reads as several sources counts once, as far as all of them have come.
        """
        try:
            done = self._batches("commits")
            begins = self.folder.glob("sources/[0-9]*/0")
            of_sources = self.ends_of(max(done)) if done else [_last_line(file) for file in begins]
        except FileNotFoundError:  # Spark has just removed an old batch's file; the next look finds newer ones
            return None
        reached: dict[tuple[str, str], int] = {}
        for topic, partitions in (each for of_source in of_sources for each in of_source.items()):
            for partition, offset in partitions.items():
                reached[topic, partition] = min(offset, reached.get((topic, partition), offset))
        return sum(reached.values()) if of_sources else None

    @property
    def _first_source(self) -> Path:
        return self.folder / "sources" / "0" / "0"

    def _batches(self, kind: str) -> list[int]:
        """Numbers of the batches that have a file of this kind; Spark names unfinished files otherwise."""
        return [int(file.name) for file in (self.folder / kind).glob("[0-9]*")]


def _last_line(file: Path) -> Offsets:
    return json.loads(file.read_text().splitlines()[-1])
