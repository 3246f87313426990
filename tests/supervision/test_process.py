"""A driver is launched once as a process of its own, stopped on request, and ended when it does not listen."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from supervision import process
from supervision.files import StreamFolder, is_locked, locked
from supervision.process import AlreadyRunning, is_gone, kill, launch, request_stop, stop_all
from supervision.status import read_status
from tests.support.drivers import COMMAND, STREAM, alive, behave, environment, jvm, launched, starts
from tests.support.waiting import until


def test_a_driver_is_a_process_of_its_own(streams):
    folder = launched(streams)
    [pid] = starts(streams)
    assert os.getsid(pid) == folder.read_launch().pid != os.getsid(0)
    assert pid not in {child.pid for child in psutil.Process().children(recursive=True)}
    assert Path(f"/proc/{pid}/fd/0").readlink() == Path("/dev/null")
    assert Path(f"/proc/{pid}/cwd").readlink() == folder.path
    assert until("its output", lambda: folder.log_tail().splitlines()[1:]) == ["command line: jobs/score.py --feed service-use"]
    assert folder.log_tail().startswith("--- launched 20")
    assert not is_gone(folder)


def test_the_launch_says_where_the_drivers_output_begins(streams):
    folder = StreamFolder(streams / STREAM)
    folder.make()
    folder.log.write_text("of the driver before\n")
    launched(streams)
    assert folder.read_launch().log_offset == len("of the driver before\n")
    assert "of the driver before" not in folder.log_tail()


def test_temporary_files_are_the_streams_own_and_those_of_a_driver_that_is_gone_go_at_the_next_launch(streams):
    folder = StreamFolder(streams / STREAM)
    left = folder.scratch / "blockmgr-1" / "00"
    left.mkdir(parents=True)
    (left / "shuffle_0_0_0.data").write_bytes(b"left")
    launched(streams)
    assert not left.exists()
    [pid] = starts(streams)
    assert psutil.Process(pid).environ()["SPARK_LOCAL_DIRS"] == str(folder.scratch)
    assert list(folder.scratch.iterdir()) == [], "empty, but there"
    here = folder.scratch / "blockmgr-2"
    here.mkdir(parents=True)
    with pytest.raises(AlreadyRunning):
        launch(folder, COMMAND, environment(streams))
    assert here.exists(), "a driver that lives keeps its files"


def test_what_the_last_driver_reported_is_gone_at_the_next_launch(folder, streams):
    folder.write_driver({"pid": 1})
    folder.write_heartbeat({"state": "running"})
    behave(streams, "mute")
    launch(folder, COMMAND, environment(streams))
    until("its driver", lambda: folder.read_driver().get("pid") == (starts(streams) or [None])[0])
    assert (folder.heartbeat_mark(), folder.read_heartbeat()) == (0, {})


def test_launches_after_drivers_that_died_are_counted_until_one_ends_on_request(streams):
    behave(streams, "mute")
    folder, counted = StreamFolder(streams / STREAM), []
    folder.make()
    for beat in (None, {"state": "running"}, {"state": "stopping", "last_error": "no room"}, {"state": "stopping"}, None):
        if beat is not None:
            folder.write_heartbeat(beat)
        launch(folder, COMMAND, environment(streams))
        counted.append(folder.read_launch().restarts)
        kill(folder)
    assert counted == [0, 1, 2, 0, 1]


def test_a_clock_that_is_set_back_after_the_launch_hides_neither_heartbeats_nor_the_end_of_the_driver(streams, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 4e9)  # so at the launch; all files that follow are older
    behave(streams, "linger")
    folder = launched(streams)
    assert not is_gone(folder)
    os.kill(starts(streams)[0], signal.SIGKILL)
    until("half of a driver is none", lambda: is_gone(folder))
    assert is_locked(folder.launch_lock), "its JVM lives"


def test_no_second_driver_is_launched_beside_the_first(streams):
    folder = launched(streams)
    with pytest.raises(AlreadyRunning, match=rf"launch\.lock is locked by pid {folder.read_launch().pid}"):
        launch(folder, COMMAND, environment(streams))
    folder.launch_lock.unlink()  # as if the driver had been started by hand
    assert not is_gone(folder)
    with pytest.raises(AlreadyRunning, match=rf"driver\.lock is locked by pid {starts(streams)[0]}"):
        launch(folder, COMMAND, environment(streams))
    assert len(starts(streams)) == 1


def test_a_launch_is_locked_before_its_driver_has_locked_anything(folder, streams):
    waits = [sys.executable, "-c", "import time; time.sleep(600)"]
    launch(folder, waits, environment(streams))
    assert is_locked(folder.launch_lock)
    assert not is_locked(folder.driver_lock)
    assert not is_gone(folder)
    with pytest.raises(AlreadyRunning):
        launch(folder, waits, environment(streams))
    kill(folder)
    assert is_gone(folder)


def test_a_stream_that_never_ran_has_no_driver(folder):
    assert is_gone(folder)
    assert not request_stop(folder)
    assert not folder.stop_requested()
    kill(folder)


def test_a_driver_stops_on_request(streams):
    folder = launched(streams)
    assert request_stop(folder)
    until("the driver is gone", lambda: is_gone(folder))
    assert read_status(folder).state == "stopped"
    assert not folder.stop_requested()


def test_a_request_to_stop_is_only_for_the_driver_it_was_meant_for(folder, streams):
    folder.request_stop()
    launched(streams)
    assert not folder.stop_requested()
    assert not is_gone(folder)
    assert read_status(folder).state == "running"


@pytest.mark.parametrize("survivor", ["jvm", "python"])
def test_half_a_driver_is_none_and_is_killed(streams, survivor):
    behave(streams, "linger")
    folder = launched(streams)
    [pid] = starts(streams)
    parent = jvm(pid)
    if survivor == "jvm":
        os.kill(pid, signal.SIGKILL)
        until("the Python process is gone", lambda: not alive(pid))
        assert is_locked(folder.launch_lock)
    else:
        os.kill(pid, signal.SIGSTOP)
        os.kill(parent, signal.SIGKILL)
        until("the JVM is gone", lambda: not alive(parent))
        assert is_locked(folder.driver_lock)
    until("it counts as gone", lambda: is_gone(folder))
    with pytest.raises(AlreadyRunning):
        launch(folder, COMMAND, environment(streams))
    kill(folder)
    until("both have ended", lambda: not (alive(pid) or alive(parent)))
    assert not is_locked(folder.launch_lock)
    assert not is_locked(folder.driver_lock)


def test_a_driver_launched_since_the_judgement_is_not_killed(streams):
    folder = launched(streams)
    kill(folder, replace(folder.read_launch(), at=1.0))
    assert alive(starts(streams)[0])
    assert not is_gone(folder)


def test_a_driver_that_survives_sigkill_is_named(folder, monkeypatch):
    monkeypatch.setattr(os, "kill", lambda *_: None)
    folder.write_driver({"pid": 999_999_999})
    with locked(folder.driver_lock), pytest.raises(TimeoutError, match=rf"{STREAM}: the driver's locks are still taken"):
        kill(folder, patience=0.1)


def test_all_drivers_are_asked_to_stop(streams):
    folder = launched(streams)
    [pid] = starts(streams)
    (streams / "never-ran.score").mkdir()
    assert stop_all(streams) == [STREAM]
    until("its process has ended", lambda: not alive(pid))
    assert read_status(folder).state == "stopped"
    assert not folder.stop_requested()
    assert stop_all(streams) == []


@pytest.mark.parametrize("stopped", [False, True])
def test_a_driver_that_does_not_listen_is_ended(streams, stopped, monkeypatch):
    """The stand-in ends at SIGTERM; one that is stopped ends only at SIGKILL."""
    monkeypatch.setattr(process, "TERM_WAIT", 0.5 if stopped else 30)
    behave(streams, "deaf")
    folder = launched(streams)
    [pid] = starts(streams)
    if stopped:
        os.kill(pid, signal.SIGSTOP)
    assert stop_all(streams, patience=0.3) == [STREAM]
    until("its process has ended", lambda: not alive(pid))
    assert not is_locked(folder.driver_lock)
    assert not folder.stop_requested()


def test_the_pid_of_a_driver_that_is_gone_may_belong_to_another_process(folder, streams):
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        folder.write_driver({"pid": stranger.pid})
        folder.driver_lock.touch()
        assert stop_all(streams, patience=0.1) == []
        kill(folder)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
