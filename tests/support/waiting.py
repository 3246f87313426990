"""Waiting for a state. A test never sleeps for a time and then asserts."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")
LIMIT = 60.0  # seconds; generous, as a limit says only when to stop hoping: no test is about speed
PAUSE = 0.1


def until(
    what: str,
    holds: Callable[[], Found],
    seconds: float = LIMIT,
    detail: Callable[[], object] = lambda: "",
    pause: float = PAUSE,
) -> Found:
    """The first true value of `holds()`. Fails after so many seconds, naming `what` did not come, with `detail()`."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: {what} {detail()}".rstrip())
        time.sleep(pause)
    return found
