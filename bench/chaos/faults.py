"""What befalls the stack: each fault of the plan is done, and goes away again."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.chaos.plan import CLOCK_STEP, Event
from bench.platform import wait_for
from stack.instance import Instance
from stack.parts import kafka, process, status
from stack.parts.streams import Stream
from supervision.status import read_status

BLOCK = 1 << 20
BACK_WITHIN = 900.0  # seconds until a part is there again, on a busy machine


@dataclass(frozen=True)
class Ground:
    """Where a run takes place. clock: the file by which libfaketime sets the stack's clock; None where there is none."""

    instance: Instance
    streams: dict[str, Stream]
    clock: Path | None = None


def befall(ground: Ground, event: Event) -> float:
    """Do it. When the part that was hit was there again, seconds since the epoch; of a driver, when another one was launched."""
    if event.both:
        with ThreadPoolExecutor(2) as pool:
            return max(pool.map(lambda each: befall(ground, each), event.both))
    if event.on in ground.streams:
        return _driver(ground, event)
    if event.what == "kill":
        return _killed(ground, event.on)
    with _LASTING[event.what](ground, event):
        time.sleep(event.seconds)
    wait_for(f"a healthy stack after {event}", lambda: all(status.checks(ground.instance).values()), BACK_WITHIN)
    return time.time()


def _driver(ground: Ground, event: Event) -> float:
    folder, struck = ground.streams[event.on].folder(ground.instance), time.time()
    with contextlib.suppress(psutil.NoSuchProcess):
        if pid := read_status(folder).pid:  # else it is about to be launched, and has been hit already
            python = psutil.Process(pid)
            _STRIKES[event.what](python)
    wait_for(f"a driver after {event}", lambda: folder.read_launch().at > struck, BACK_WITHIN)
    return folder.read_launch().at


def _both(python: psutil.Process) -> None:
    for each in (python.parent(), python):
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()


_STRIKES: dict[str, Callable[[psutil.Process], None]] = {
    "driver_python": lambda python: python.kill(),
    "driver_jvm": lambda python: python.parent().kill(),  # the Python process of a driver is a child of its JVM
    "driver": _both,
    "driver_python_stops": lambda python: os.kill(python.pid, signal.SIGSTOP),
    "driver_jvm_stops": lambda python: os.kill(python.ppid(), signal.SIGSTOP),
}


def _killed(ground: Ground, part: str) -> float:
    """The watcher starts it again."""
    if hit := process.find(ground.instance, part):
        hit.kill()

    def replaced() -> bool:
        now = process.find(ground.instance, part)
        return now is not None and now != hit and all(status.checks(ground.instance).values())

    wait_for(f"{part}, which was killed", replaced, BACK_WITHIN)
    return time.time()


@contextlib.contextmanager
def _broker_out(ground: Ground, _: Event) -> Iterator[None]:
    """A command stops it: so the watcher lets it be."""
    with ground.instance.locked(patience=60):
        process.stop(ground.instance, kafka.NAME)
    yield
    with ground.instance.locked(patience=60):
        process.start(ground.instance, kafka.part(ground.instance, 1))


@contextlib.contextmanager
def _part_stops(ground: Ground, event: Event) -> Iterator[None]:
    stopped = process.find(ground.instance, event.on)
    if stopped:
        stopped.suspend()
    yield
    with contextlib.suppress(psutil.NoSuchProcess):
        if stopped:
            stopped.resume()


@contextlib.contextmanager
def _disk_full(ground: Ground, _: Event) -> Iterator[None]:
    """Of the file system that the streams' folder is on: see `place.small_disk`."""
    ballast = ground.instance.streams / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0" * BLOCK)
    try:
        yield
    finally:
        ballast.unlink(missing_ok=True)


@contextlib.contextmanager
def _clock(ground: Ground, event: Event) -> Iterator[None]:
    """All parts and drivers live by another clock; the bench does not."""
    assert ground.clock
    sign = "+" if event.what == "clock_ahead" else "-"
    ground.clock.write_text(f"{sign}{CLOCK_STEP:.0f}s\n")
    try:
        yield
    finally:
        ground.clock.write_text("+0s\n")


_LASTING = {
    "broker_out": _broker_out,
    "part_stops": _part_stops,
    "disk_full": _disk_full,
    "clock_ahead": _clock,
    "clock_back": _clock,
}
