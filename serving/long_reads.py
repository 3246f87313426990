"""Reads windows of more than six hours, and compares baselines, in a separate process. In serving's own process, this would hold
Python's lock, and short requests would wait.

The process does one read after the other, at a lower priority than serving, and keeps the days that it has read. When serving
ends, in whatever way, the process ends, too. If the process dies, the next read starts a new one.
"""

import contextlib
import datetime as dt
import functools
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from contracts.feeds import Feed
from serving import series
from serving.archive import Archive, Versions
from serving.lake import Lake
from serving.long_lived import Standstill

T = TypeVar("T")

LONG = dt.timedelta(hours=6)
NICE = 5
PATIENCE = 300.0  # seconds that one read may take


def is_long(asked: series.Window | int) -> bool:
    """Whether a window, or its length in minutes, is long: it is read here, and waits for other long ones."""
    length = dt.timedelta(minutes=asked) if isinstance(asked, int) else asked.until - asked.start
    return length > LONG


def start() -> None:
    """Starts the process, so that the first read need not wait for it."""
    _process().submit(os.getpid)


def run(lake: str, versions: Versions | None, work: Callable[..., T], feed: Feed, *arguments: object) -> T:
    """Calls `work(archive, feed, *arguments)` in the process, and returns its result or raises its exception.

    lake: the path or URI of the lake. versions: of the tables, as the caller has read them, so the process reads no older ones;
    None: `work` opens the tables.
    work: a function of a module that takes an `Archive` first; its arguments and its result are pickled.
    """
    with _pace.waiting():
        try:
            return _process().submit(_work, lake, versions, work, feed, *arguments).result()
        except BrokenProcessPool:
            _process.cache_clear()
            return _process().submit(_work, lake, versions, work, feed, *arguments).result()


class _Pace:
    """How long no read has ended while some waited. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting, self._moved_at = 0, 0.0

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        with self._lock:
            self._moved_at = self._moved_at if self._waiting else time.monotonic()
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting, self._moved_at = self._waiting - 1, time.monotonic()

    def silent_seconds(self) -> float:
        with self._lock:
            return time.monotonic() - self._moved_at if self._waiting else 0.0


_pace = _Pace()


def standstill() -> Standstill | None:
    """None unless a read has gone on for longer than PATIENCE. That the process dies is none: the next read starts a new one."""
    silent = _pace.silent_seconds()
    return Standstill("long-reads", silent, died=False) if silent > PATIENCE else None


@functools.cache
def _process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes of a terminal; serving ends this one
    os.nice(NICE)
    threading.Thread(target=_end_with_serving, daemon=True).start()


def _end_with_serving() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(0)


@functools.lru_cache(1)
def _archive(lake: str) -> Archive:
    return Archive.of(Lake(lake))


def _work(lake: str, versions: Versions | None, work: Callable[..., T], feed: Feed, *arguments: object) -> T:
    archive = _archive(lake)
    if versions is not None and archive.versions(feed) != versions:  # the process may have opened older ones a moment ago
        archive.tables.lake.renew()
    return work(archive, feed, *arguments)
