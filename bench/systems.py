"""What `bench/streams.py` asks of a system under test; a system is made for one job on one broker."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from contracts import avro


class System(ABC):
    name: str
    jobs: tuple[str, ...]  # that it can do
    schema_id: int  # under which the events are to be sent

    @property
    @abstractmethod
    def schema(self) -> avro.ParsedSchema:
        """Of what it writes."""

    @abstractmethod
    def start(self) -> None:
        """Returns when it reads its inputs, from their beginning."""

    @abstractmethod
    def stop(self) -> None:
        """Ends it, cleanly; also where it has ended by itself, or never started."""

    @abstractmethod
    def leader(self) -> psutil.Process:
        """The process that has started all its others. Raises an error that says why, if it has ended."""

    @abstractmethod
    def lag(self) -> int:
        """Records that wait anywhere in it; at 0, whatever was sent is in its output."""

    @abstractmethod
    def state_mb(self) -> float:
        """What its state takes on the disk."""

    def rss_mb(self) -> float:
        return sum(self._of_each(lambda process: process.memory_info().rss)) / 1e6

    def cpu_seconds(self) -> float:
        """Of the processes that live."""
        return sum(self._of_each(lambda process: sum(process.cpu_times()[:2])))

    def _of_each(self, look: Callable[[psutil.Process], float]) -> Iterator[float]:
        """Of each of its processes, but for those that end meanwhile."""
        leader = self.leader()
        for each in (leader, *leader.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                yield look(each)


def size(file: Path) -> int:
    """Bytes that a file takes; none if it is gone by now."""
    try:
        return 512 * file.stat().st_blocks
    except FileNotFoundError:
        return 0
