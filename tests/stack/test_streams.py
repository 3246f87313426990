"""A stream is seen through the files of its folder, and stopped the way it asked to be."""

import datetime as dt
import json
import subprocess
import sys

import pytest

from stack import process, streams
from stack.home import Home

# A driver that keeps the agreement: lock held, pid written, ends when asked; one that does not end is given no `polite`.
DRIVER = """
import fcntl, json, os, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
lock = open(folder / "driver.lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
(folder / "driver.json").write_text(json.dumps({"pid": os.getpid()}))
print("ready", flush=True)
while not ("polite" in sys.argv and (folder / "stop").exists()):
    time.sleep(0.05)
(folder / "ended-cleanly").touch()
"""


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path / "home").make(base=0)
    (made.streams / "service-use.score").mkdir()
    yield made
    process.kill(process.strays(made))


def drive(home: Home, *manners: str) -> subprocess.Popen:
    command = [sys.executable, "-c", DRIVER, str(home.streams / "service-use.score"), *manners]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, env=home.process_environment(), start_new_session=True)
    assert driver.stdout.readline() == b"ready\n"
    return driver


def beat(home: Home, age: float, **more) -> None:
    at = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=age)
    heartbeat = {"at": at.isoformat(), "state": "running", "baseline_version": 3, **more}
    (home.streams / "service-use.score/heartbeat.json").write_text(json.dumps(heartbeat))


def test_a_polite_driver_ends_itself(home):
    driver = drive(home, "polite")
    assert streams.stop_all(home) == ["service-use.score"]
    assert driver.wait(5) == 0
    assert (home.streams / "service-use.score/ended-cleanly").exists()
    assert not (home.streams / "service-use.score/stop").exists()


def test_a_driver_that_does_not_listen_is_ended(home):
    driver = drive(home)
    assert streams.stop_all(home, patience=0.5) == ["service-use.score"]
    assert driver.wait(5) == -15
    assert not streams.held(home.streams / "service-use.score/driver.lock")


def test_a_stale_pid_belongs_to_nobody(home):
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        (home.streams / "service-use.score/driver.json").write_text(json.dumps({"pid": stranger.pid}))
        (home.streams / "service-use.score/driver.lock").touch()
        assert streams.stop_all(home, patience=0.1) == []
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_states(home):
    def state() -> str:
        (stream,) = streams.all_streams(home)
        return stream.state

    assert state() == "stopped"
    driver = drive(home, "polite")
    assert state() == "starting"
    beat(home, age=0)
    assert state() == "running"
    beat(home, age=streams.STALE + 5)
    assert state() == "silent"
    driver.kill()
    driver.wait()
    assert state() == "stopped"
