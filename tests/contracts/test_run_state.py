"""A stream's state follows from its lock and its heartbeat."""

import datetime as dt
import fcntl
import json
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.run_state import STALE_SECONDS, held, observe, observe_all

NOW = dt.datetime.now(dt.UTC)


def ago(seconds: float) -> dt.datetime:
    return NOW - dt.timedelta(seconds=seconds)


@pytest.fixture
def folder(tmp_path) -> Path:
    made = tmp_path / "streams" / "service-use.score"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def driver(folder):
    """A driver that lives and has given no heartbeat yet; started a minute ago."""
    with (folder / "driver.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "driver.json").write_text(json.dumps({"pid": 7, "started_at": ago(60).isoformat()}))
        yield folder


def beat(folder: Path, at: dt.datetime, **told) -> None:
    (folder / "heartbeat.json").write_text(json.dumps({"at": at.isoformat(), "state": "running", **told}))


@pytest.mark.parametrize("state", ["starting", "running", "swapping", "stopping"])
def test_a_living_stream_is_what_its_heartbeat_says(driver, state):
    beat(driver, ago(0.5), state=state, baseline_version=4)
    found = observe(driver, NOW)
    assert (found.name, found.pid, found.state, found.problem, found.age) == ("service-use.score", 7, state, None, 0.5)
    assert found.heartbeat["baseline_version"] == 4


def test_a_driver_that_does_not_report_is_stale(driver):
    beat(driver, ago(STALE_SECONDS + 20))
    found = observe(driver, NOW)
    assert (found.state, found.age) == ("stale", 30.0)
    assert found.problem == "driver 7 lives but has not reported for 30 s: see service-use.score/driver.log"


def test_a_state_that_nobody_knows_is_not_believed(driver):
    beat(driver, NOW, state="dancing")
    assert observe(driver, NOW).state == "stale"
    assert "'dancing'" in observe(driver, NOW).problem


def test_before_its_first_heartbeat_a_driver_is_starting(driver):
    assert observe(driver, NOW).state == "starting"
    beat(driver, ago(600), state="stopping")
    found = observe(driver, NOW)
    assert (found.state, found.age, found.heartbeat) == ("starting", None, {}), "that was the driver before"


def test_a_driver_whose_lock_is_free_is_dead_however_fresh_its_heartbeat(folder):
    (folder / "driver.lock").touch()
    (folder / "driver.json").write_text(json.dumps({"pid": 1, "started_at": ago(60).isoformat()}))
    beat(folder, NOW)
    found = observe(folder, NOW)
    assert (found.state, found.pid, found.lives) == ("dead", None, False), "pid 1 lives, but is no driver"
    assert found.problem == "driver 1 is gone: see service-use.score/driver.log"
    beat(folder, NOW, state="stopping")
    assert (observe(folder, NOW).state, observe(folder, NOW).problem) == ("stopped", None)
    beat(folder, NOW, state="stopping", last_error="ConnectionRefusedError: the JVM is gone")
    assert observe(folder, NOW).state == "dead", "it had time for a last word, but was not asked to stop"


def test_half_written_files_are_no_error(driver):
    for text in ('{"at": "20', "[]", '{"at": 5}', ""):
        (driver / "heartbeat.json").write_text(text)
        assert observe(driver, NOW).state == "starting"
    (driver / "driver.json").write_text("[]")
    assert observe(driver, NOW).pid is None


def test_a_folder_of_which_nobody_knows_anything_is_dead(folder):
    assert observe(folder, NOW).state == "dead"
    assert "no readable driver.json" in observe(folder, NOW).problem


def test_streams_come_by_name(tmp_path, folder):
    assert observe_all(tmp_path / "nowhere") == []
    (folder.parent / "a.score").mkdir()
    (folder.parent / "no-stream").mkdir()
    (folder.parent / "starts.txt").touch()
    assert [each.name for each in observe_all(folder.parent)] == ["a.score", "service-use.score"]


def test_a_lock_ends_with_the_process_that_held_it(folder):
    lock = folder / "driver.lock"
    assert not held(lock)
    code = (
        "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); time.sleep(600)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(lock)], stdout=subprocess.PIPE)
    holder.stdout.readline()
    assert held(lock)
    holder.kill()
    holder.wait()
    assert not held(lock)
