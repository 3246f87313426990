"""The checkpoint of a streaming query, in the layout that Spark gives it. This file alone knows that layout.

    metadata           the query's id, a new one for each new checkpoint
    sources/<n>/0      where each of the query's sources begins
    offsets/<batch>    where a batch ends in each source; written before Spark works on the batch
    commits/<batch>    that all of the batch is written
    state/             what operators with state keep
    topics.json        ids of the topics that the query reads; this one and the next are Sundial's
    begun.json         of a query that reads its topics as one source: which these are, see `Begun`

A file of offsets holds a version, what else Spark notes, and in its last lines the offsets of each source by topic and partition.
Spark writes each file whole or not at all. One that is damaged nevertheless, as by a full or broken disk, is a JobError with its
name.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from jobs.errors import JobError
from supervision.files import read_json, write_json

HEAD_OF_BATCH, HEAD_OF_SOURCE = 2, 1  # lines before the offsets: the version; of a batch also what else Spark notes
NOTHING = "-"  # of a source of which a batch has no offsets
Offsets = dict[str, dict[str, int]]  # by topic and partition


@dataclass(frozen=True)
class Begun:
    """how: of each topic that the query reads, how that is worked on. changed: a batch that was planned before these were the
    topics, and was not committed."""

    how: dict[str, str] = field(default_factory=dict)
    changed: int | None = None


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint in a folder, whether it exists yet or not."""

    folder: Path

    @property
    def query_id(self) -> str:
        file = self.folder / "metadata"
        return self._parsed(file, file.read_text(errors="replace"))["id"]

    @property
    def state_folder(self) -> Path:
        return self.folder / "state"

    @property
    def has_batches(self) -> bool:
        """Whether a batch has been planned."""
        return bool(self._batches("offsets"))

    @property
    def is_started(self) -> bool:
        """Whether a query was ever started with it."""
        return (self.folder / "metadata").exists()

    def clear_unplanned(self) -> None:
        """Delete what a killed driver had begun to write for a first batch that is not planned. Spark refuses to plan a first
        batch while it is there (STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY). The query must not run."""
        if not (self._batches("offsets") or self._batches("commits")):
            for kind in ("offsets", "state", "commits"):
                shutil.rmtree(self.folder / kind, ignore_errors=True)
        shutil.rmtree(self._deleted, ignore_errors=True)

    def plan_without_records(self, at: int) -> None:
        """Plan a batch without records, unless a batch is planned and not committed. at: epoch milliseconds, as the batch's time.
        The query must not run.

        Spark itself plans such a batch, in which timers end, only after another batch of the same run. So a query that starts
        while no record comes would end no timer before the next record.
        """
        done = max(self._batches("commits"), default=None)
        if done is None or max(self._batches("offsets")) > done:
            return
        of_last, commit = self.folder / "offsets" / str(done), self.folder / "commits" / str(done)
        version, head, *offsets = of_last.read_text(errors="replace").split("\n")
        watermark = self._parsed(commit, commit.read_text(errors="replace").partition("\n")[2])["nextBatchWatermarkMs"]
        head = json.dumps(self._parsed(of_last, head) | {"batchWatermarkMs": watermark, "batchTimestampMs": at})
        _write(self.folder / "offsets" / str(done + 1), [version, head, *offsets])

    def delete(self) -> None:
        """Have the query begin as one that never ran. It must not run. The checkpoint is gone at once, so that a kill leaves no
        part of it."""
        shutil.rmtree(self._deleted, ignore_errors=True)
        shutil.rmtree(self.folder.rename(self._deleted))

    @property
    def _deleted(self) -> Path:
        return self.folder.with_name(f".{self.folder.name}")

    def begin_at(self, topic: str, offsets: dict[int, int]) -> None:
        """Have a query of this one source, which has never run, begin there."""
        first = self.folder / "sources" / "0" / "0"
        first.parent.mkdir(parents=True)
        by_partition = {str(partition): offset for partition, offset in offsets.items()}
        first.write_bytes(b"\0v1\n" + json.dumps({topic: by_partition}, separators=(",", ":")).encode())

    def begin(self, topic: str) -> dict[int, int]:
        """Where a query of this one source has begun, by partition."""
        [of_source] = self._offsets(self.folder / "sources" / "0" / "0", HEAD_OF_SOURCE)
        return {int(p): offset for p, offset in of_source[topic].items()}

    def ends_of(self, batch: int) -> list[Offsets]:
        """Where a planned batch ends: of each source the offsets."""
        return self._offsets(self.folder / "offsets" / str(batch), HEAD_OF_BATCH)

    def committed(self) -> int | None:
        """The sum of the offsets up to which the query's work is committed; None while it is not fixed where it begins."""
        reached = self.reached()
        return None if reached is None else sum(offset for offsets in reached.values() for offset in offsets.values())

    def reached(self) -> dict[str, dict[int, int]] | None:
        """The offsets up to which the query's work is committed, by topic and partition; None while it is not fixed where it
        begins. Of a topic that the query reads as several sources, as far as all of them have come.
        """
        try:
            done = self._batches("commits")
            of_sources = self.ends_of(max(done)) if done else self._begins()
        except FileNotFoundError:  # Spark has just removed an old batch's file; the next look finds newer ones
            return None
        reached: dict[str, dict[int, int]] = {}
        for topic, partitions in (each for of_source in of_sources for each in of_source.items()):
            so_far = reached.setdefault(topic, {})
            for partition, offset in partitions.items():
                so_far[int(partition)] = min(offset, so_far.get(int(partition), offset))
        return reached or None

    def go_on_at(self, topic: str, offsets: dict[int, int]) -> None:
        """Have the query read this topic from these offsets on, by partition, whatever it has read. A batch that was planned and
        not committed is planned again. The query must not run. After a kill, it can be done again; the newest batch goes first,
        as Spark looks for the one before each."""
        done = self._batches("commits")
        for planned in sorted(self._batches("offsets"), reverse=True):
            if planned > max(done, default=-1):
                (self.folder / "offsets" / str(planned)).unlink()
        there = {str(partition): offset for partition, offset in offsets.items()}

        def changed(of_source: Offsets) -> Offsets:
            return of_source | {topic: there} if topic in of_source else of_source

        self._rewrite_begins(changed)

    def read_topics(self, begins: dict[str, dict[int, int]], gone: set[str]) -> int | None:
        """Have the query, of one source, begin in some topics at these offsets, whatever it has read of them, and read others no
        more. Returns the batch that was planned and not committed, if there is one: it is made again without records of these
        topics. The query must not run."""
        there = {topic: {str(p): offset for p, offset in offsets.items()} for topic, offsets in begins.items()}

        def changed(of_source: Offsets) -> Offsets:
            return {topic: offsets for topic, offsets in of_source.items() if topic not in gone} | there

        planned = [batch for batch in self._batches("offsets") if batch > max(self._batches("commits"), default=-1)]
        self._rewrite_begins(changed)
        for batch in planned:
            self._rewrite(self.folder / "offsets" / str(batch), HEAD_OF_BATCH, changed)
        return max(planned, default=None)

    @property
    def begun(self) -> Begun:
        return Begun(**read_json(self.folder / "begun.json"))

    def note_begun(self, begun: Begun) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / "begun.json", asdict(begun))

    def _begins(self) -> list[Offsets]:
        files = self.folder.glob("sources/[0-9]*/0")
        return [of_source for file in files for of_source in self._offsets(file, HEAD_OF_SOURCE)]

    @property
    def topic_ids(self) -> dict[str, str]:
        """Ids of the topics that the query reads, as they were noted; of a checkpoint of an older release empty."""
        return read_json(self.folder / "topics.json")

    def note_topic_ids(self, ids: dict[str, str]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.folder / "topics.json", ids)

    def _batches(self, kind: str) -> list[int]:
        """Numbers of the batches that have a file of this kind; Spark names unfinished files otherwise."""
        return [int(file.name) for file in (self.folder / kind).glob("[0-9]*")]

    def _rewrite_begins(self, changed: Callable[[Offsets], Offsets]) -> None:
        """Where the next batch begins in each source."""
        if done := self._batches("commits"):
            self._rewrite(self.folder / "offsets" / str(max(done)), HEAD_OF_BATCH, changed)
        else:
            for begin in list(self.folder.glob("sources/[0-9]*/0")):
                self._rewrite(begin, HEAD_OF_SOURCE, changed)

    def _rewrite(self, file: Path, head: int, changed: Callable[[Offsets], Offsets]) -> None:
        """The file with other offsets of its sources."""
        lines = file.read_text().split("\n")
        for number in range(head, len(lines)):
            if lines[number] != NOTHING:
                lines[number] = json.dumps(changed(self._parsed(file, lines[number])), separators=(",", ":"))
        _write(file, lines)

    def _offsets(self, file: Path, head: int) -> list[Offsets]:
        """Of each source that has any, from a file with so many lines before them."""
        lines = file.read_text(errors="replace").splitlines()[head:]
        return [self._parsed(file, line) for line in lines or [""] if line != NOTHING]

    def _parsed(self, file: Path, text: str) -> dict:
        try:
            found = json.loads(text)
        except json.JSONDecodeError:
            found = None
        if isinstance(found, dict):
            return found
        raise JobError(
            f"{file} is damaged: bring it back from a copy, or delete the checkpoint {self.folder}; then the query begins like"
            " one that never ran"
        )


def _write(file: Path, lines: list[str]) -> None:
    """All of them or none."""
    unfinished = file.with_name(f".{file.name}.new")
    unfinished.write_text("\n".join(lines))
    unfinished.replace(file)
