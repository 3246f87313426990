"""A part is killed or hangs while readings flow: every reading is judged, by one driver, as if nothing had been.

Airflow brings back what it supervises, and the watcher the other parts. All of them at once, and the driver alone, are killed in
test_main_path.py.
"""

import os
import signal

import psutil
import pytest

from stack.parts.dag_run import watch
from supervision.task_life import VARIABLE
from tests.end_to_end.outages import PARTS, driver_of_task, keep_down, strike, survives
from tests.end_to_end.story import NIGHT, NIGHTLY
from tests.support.waiting import until

pytestmark = [pytest.mark.timeout(3600), pytest.mark.full, pytest.mark.kill]


def test_the_stream_says_that_nothing_waits_once_all_is_judged(story):
    story.play(rounds=30)
    story.all_judged()

    def idle() -> bool:
        health = story.stream().heartbeat["health"]
        return (health.get("lag_records"), health.get("stalled_seconds")) == (0, 0.0)

    until("a measurement without a lag", idle, 300, story.stream)


def test_the_process_of_a_nightly_task_is_killed(story):
    """Its driver ends with it, the retry does the work, and the night is promoted once."""
    story.calm()
    before = story.commits()
    run = story.begin(NIGHTLY, full=True)
    driver = until("the job", lambda: driver_of_task(story, "build_baseline"), 300)
    orphans = [driver, driver.parent()]
    os.kill(int(driver.environ()[VARIABLE].split()[1]), signal.SIGKILL)
    until("the end of the orphans", lambda: not any(each.is_running() for each in orphans), 60)
    watch(story.api, NIGHTLY, run, print, NIGHT)
    tries = story.api.call("GET", f"dags/{NIGHTLY}/dagRuns/{run}/taskInstances/build_baseline/tries")["task_instances"]
    assert [each["state"] for each in sorted(tries, key=lambda each: each["try_number"])] == ["failed", "success"]
    story.sees(version := story.promoted(run))
    assert {number: note for number, note in story.commits().items() if number != version} == before
    story.check_content(version)


def test_a_task_that_begins_without_the_api_server_waits_for_it(story):
    """Airflow's default would let it fail after some ten seconds, without a log."""
    story.calm()
    run = story.begin(NIGHTLY, full=True)
    keep_down(story, "airflow-api-server", 30)
    watch(story.api, NIGHTLY, run, print, NIGHT)
    tried = story.api.call("GET", f"dags/{NIGHTLY}/dagRuns/{run}/taskInstances/archive")
    assert (tried["try_number"], tried["state"]) == (1, "success"), "a try that never began is counted, but not among the tries"
    story.sees(story.promoted(run))


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
