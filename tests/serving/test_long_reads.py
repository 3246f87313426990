"""Long reads are done in another process, as they would be here; it is replaced when it dies, and does not outlive serving."""

import datetime as dt
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest

from contracts.feeds import Feed
from serving import long_reads
from serving.archive import Archive, readings_of, series_of
from serving.lake import Lake
from serving.scored import NOTHING
from serving.series import Window
from tests.serving import world
from tests.support.waiting import until

NOON = dt.datetime(2026, 11, 20, 17, tzinfo=dt.UTC)  # in New York
DAY = dt.timedelta(days=1)
SHOWN = Window(NOON - DAY, NOON, NOON, live=False)
START = """
import time
from serving import long_reads
if __name__ == "__main__":
    print(long_reads._process().submit(__import__("os").getpid).result(), flush=True)
    time.sleep(600)
"""


def process_id(archive: Archive, feed: Feed) -> tuple[int, int]:
    """And how nice it is."""
    return os.getpid(), os.nice(0)


def fails(archive: Archive, feed: Feed) -> None:
    raise LookupError(f"nothing of {feed.name}")


def run(lake, feed, work, *arguments):
    return long_reads.run(str(lake), Archive.of(Lake(str(lake))).versions(feed), work, feed, *arguments)


def test_what_it_answers_is_what_would_be_answered_here(lake, feed):
    world.promote(lake, feed, {"a": 100.0})
    world.archive(lake, feed, {("a", NOON - dt.timedelta(minutes=minute)): minute for minute in range(600)})
    here = Archive.of(Lake(str(lake)))
    asked = (series_of, "a", SHOWN, 500, NOTHING)
    np.testing.assert_equal(run(lake, feed, *asked), asked[0](here, feed, *asked[1:]))
    first, last = (round(at.timestamp() * 1000) for at in (SHOWN.start, SHOWN.end))
    for page, more in (
        run(lake, feed, readings_of, "a", first, last, 50, NOTHING),
        readings_of(here, feed, "a", first, last, 50, NOTHING),
    ):
        assert (page.value.tolist(), more) == (list(range(599, 549, -1)), True)
    assert run(lake, feed, process_id)[0] != os.getpid()


def test_what_was_archived_a_moment_ago_is_in_the_answer(lake, feed):
    """The process opened the table less than a second before, which would do for requests that know no better."""
    for minute in range(3):
        world.archive(lake, feed, {("a", NOON - dt.timedelta(minutes=minute)): minute})
        buckets = run(lake, feed, series_of, "a", SHOWN, 500, NOTHING)["buckets"]
        assert int(np.sum(buckets["count"])) == minute + 1


def test_an_error_is_raised_here(lake, feed):
    with pytest.raises(LookupError, match=f"nothing of {feed.name}"):
        run(lake, feed, fails)


def test_another_process_follows_one_that_died(lake, feed):
    before, nice = run(lake, feed, process_id)
    assert nice == min(os.nice(0) + long_reads.NICE, 19), "serving goes first"
    os.kill(before, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(before)] if psutil.pid_exists(before) else [], 10)
    assert run(lake, feed, process_id)[0] != before


@pytest.mark.full
def test_the_process_ends_when_serving_is_killed(tmp_path):
    script = tmp_path / "serves.py"
    script.write_text(START)
    serving = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(Path.cwd())}
    )
    assert serving.stdout is not None
    child = psutil.Process(int(serving.stdout.readline()))
    serving.kill()
    serving.wait(10)
    until("the process has ended", lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
