"""What `bench/streams.py` asks of a system under test; a system is made for one job on one broker."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterable

import psutil


class System(ABC):
    name: str
    schema_id: int  # under which the events are to be sent

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
        return sum(each.memory_info().rss for each in self._tree()) / 1e6

    def cpu_seconds(self) -> float:
        """Of the processes that live."""
        return sum(sum(each.cpu_times()[:2]) for each in self._tree())

    def _tree(self) -> Iterable[psutil.Process]:
        leader = self.leader()
        for each in (leader, *leader.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                yield each
