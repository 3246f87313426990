"""SIGKILL to each part while readings flow, alone and together: every reading is judged, by one driver, as if nothing had been.

Goes on with the stack of test_main_path.py. What Airflow supervises comes back by itself; the other parts are started again with
`sundial up`, as whoever runs them would.
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

import psutil
import pytest

from contracts.task_life import VARIABLE
from stack import lifecycle, process
from tests.end_to_end.story import NIGHTLY, Story, await_

pytestmark = pytest.mark.timeout(900)
PARTS = ["kafka", "registry", "airflow-scheduler", "airflow-triggerer", "airflow-api-server"]


def strike_driver(story: Story) -> None:
    python = psutil.Process(story.stream().pid)
    for each in (python.parent(), python):
        with suppress(psutil.NoSuchProcess):
            each.kill()


def strike(story: Story, *parts: str) -> None:
    for part in parts:
        process.find(story.home, part).kill()
    time.sleep(3)
    lifecycle.up(story.home, print)


def drivers(story: Story) -> list[int]:
    """Pids of all Python drivers of the stack's streams."""
    found = []
    for each in psutil.process_iter(["pid", "cmdline", "environ"]):
        of_stack = (each.info["environ"] or {}).get("SUNDIAL_STACK") == str(story.home.path)
        if of_stack and any(word.endswith("jobs/score.py") for word in each.info["cmdline"] or []) and "python" in each.name():
            found.append(each.pid)
    return found


def driver_of(story: Story, job: str) -> psutil.Process | None:
    """The Python driver of a batch job, once it says whose it is."""
    for each in psutil.process_iter(["cmdline", "environ"]):
        environ, words = each.info["environ"] or {}, each.info["cmdline"] or []
        ours = environ.get("SUNDIAL_STACK") == str(story.home.path) and VARIABLE in environ
        if ours and any(word.endswith(f"jobs/{job}.py") for word in words) and "python" in each.name():
            return each
    return None


def survives(story: Story, kill: Callable[[], None]) -> None:
    """Something is killed while readings flow; the stream runs in the end, and every reading was judged."""
    story.kill_while_playing(kill)
    seconds = await_("the stream", lambda: story.stream().state == "running", 180)
    print(f"runs {seconds:.1f} s after the last reading was sent")
    story.all_judged(180)
    assert drivers(story) == [story.stream().pid], "one driver, and no other"
    runs = story.api.call("GET", "dags/supervise_streams/dagRuns")["dag_runs"]
    assert [run["state"] for run in runs] == ["running"], "the one run goes on: nothing failed that a person would have to read"


def test_the_stream_says_that_nothing_waits_once_all_is_judged(story):
    story.play(rounds=30)
    story.all_judged()

    def idle() -> bool:
        health = story.stream().heartbeat["health"]
        return (health.get("lag_records"), health.get("stalled_seconds")) == (0, 0.0)

    await_("a measurement without a lag", idle, 60)


def test_the_driver_is_killed(story):
    killed = story.stream().pid
    survives(story, lambda: strike_driver(story))
    assert story.stream().pid != killed


def test_the_process_of_a_nightly_task_is_killed(story):
    """Its driver ends with it, the retry does the work, and the night is promoted once."""
    before = story.promotions()
    run = story.begin(NIGHTLY, before[0]["as_of"], full=True)
    await_("the job", lambda: driver_of(story, "build_baseline"), 120)
    driver = driver_of(story, "build_baseline")
    orphans = [driver, driver.parent()]
    os.kill(int(driver.environ()[VARIABLE].split()[1]), signal.SIGKILL)
    await_("the end of the orphans", lambda: not any(each.is_running() for each in orphans), 30)
    story.api.watch(NIGHTLY, run, print, 300)
    tries = story.api.call("GET", f"dags/{NIGHTLY}/dagRuns/{run}/taskInstances/build_baseline/tries")["task_instances"]
    assert [each["state"] for each in sorted(tries, key=lambda each: each["try_number"])] == ["failed", "success"]
    promoted = [each for each in story.promotions() if each["run_id"] == run]
    assert len(promoted) == 1
    assert story.promotions()[1:] == before


def test_the_driver_hangs(story):
    """Its JVM is stopped: the Python process goes on, and only what it measures says that nothing is done."""
    hung = story.stream().pid
    survives(story, lambda: os.kill(psutil.Process(hung).ppid(), signal.SIGSTOP))
    assert story.stream().pid != hung


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_killed_and_the_driver_lives_on(story, part):
    driver = story.stream().pid
    survives(story, lambda: strike(story, part))
    assert story.stream().pid == driver


def test_all_are_killed_at_once(story):
    killed = story.stream().pid

    def kill() -> None:
        strike_driver(story)
        strike(story, *PARTS)

    survives(story, kill)
    assert story.stream().pid != killed
