"""Reads of weeks of history, in a process of their own: in serving's own they would hold Python's lock, and short answers wait.

One process does them, one after the other, at a lower priority than serving. It keeps the days that it read. It ends with
serving, however serving ends; if it dies, the next read starts another one.
"""

import functools
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from contracts.feeds import Feed
from serving.archive import Archive, Versions
from serving.lake import Lake

T = TypeVar("T")

NICE = 5


def start() -> None:
    """Has the process started, so that the first read need not wait for it."""
    _process().submit(os.getpid)


def run(lake: str, versions: Versions, work: Callable[..., T], feed: Feed, *arguments: object) -> T:
    """`work(archive, feed, *arguments)` in the process. versions: those that the caller knows; the archive is no older.

    lake: its path or URI. work: a function of serving.archive; what it is given and returns is pickled. Its exceptions are raised
    here.
    """
    try:
        return _process().submit(_work, lake, versions, work, feed, *arguments).result()
    except BrokenProcessPool:
        _process.cache_clear()
        return _process().submit(_work, lake, versions, work, feed, *arguments).result()


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


def _work(lake: str, versions: Versions, work: Callable[..., T], feed: Feed, *arguments: object) -> T:
    archive = _archive(lake)
    if archive.versions(feed) != versions:  # what it opened a moment ago may be older
        archive.tables.lake.renew()
    return work(archive, feed, *arguments)
