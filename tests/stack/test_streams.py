"""A stream is seen through the files of its folder, and stopped the way it asked to be."""

import json
import subprocess
import sys

import pytest

from contracts.run_state import held
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
    assert not held(home.streams / "service-use.score/driver.lock")


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
