"""Processes are recorded, watched and stopped: with all they started, and never somebody else's."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest

from stack import process
from stack.errors import StackError
from stack.home import Home


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path / "home").make(base=0)
    yield made
    process.kill(process.strays(made))


def part(home: Home, script: str, healthy=lambda: True, **more) -> process.Part:
    return process.Part("part", [sys.executable, "-c", script], home.process_environment(), healthy, **more)


SLEEP = "import time; time.sleep(600)"


def test_a_started_process_is_found_and_a_second_start_leaves_it_alone(home):
    assert process.start(home, part(home, SLEEP))
    first = process.find(home, "part")
    assert not process.start(home, part(home, SLEEP))
    assert process.find(home, "part") == first
    assert os.getsid(first.pid) == first.pid  # it outlives the terminal it was started from


def test_a_recycled_pid_is_neither_found_nor_killed(home):
    stranger = subprocess.Popen([sys.executable, "-c", SLEEP])
    try:
        record = {"pid": stranger.pid, "created": psutil.Process(stranger.pid).create_time() - 3600, "port": None}
        (home.runs / "part.json").write_text(json.dumps(record))
        assert process.find(home, "part") is None
        assert process.stop(home, "part") is False
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_stop_ends_children_that_ignore_being_asked(home):
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
    process.start(home, part(home, f"import subprocess, sys; subprocess.run([sys.executable, '-c', {stubborn!r}])"))
    log = process.log_file(home, "part")
    deadline = time.monotonic() + 10
    while "ready" not in log.read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(process.strays(home)) == 2
    assert process.stop(home, "part", grace=1)
    assert process.strays(home) == []
    assert process.recorded(home) == []


def test_a_start_ends_what_a_killed_predecessor_has_left_behind(home):
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
    process.start(home, part(home, child))
    leader = process.find(home, "part")
    deadline = time.monotonic() + 10
    while not (children := leader.children()) and time.monotonic() < deadline:
        time.sleep(0.05)
    leader.kill()
    process.wait_gone([leader], 5)
    assert process.left_behind(home, "part") == children
    assert process.start(home, part(home, SLEEP))
    assert process.gone(children[0])
    assert process.left_behind(home, "nobody") == []


def test_a_stranger_with_a_recycled_pid_is_not_taken_for_something_left_behind(home):
    stranger = subprocess.Popen([sys.executable, "-c", SLEEP], start_new_session=True)
    try:
        record = {"pid": stranger.pid, "created": psutil.Process(stranger.pid).create_time() - 3600, "port": None}
        (home.runs / "part.json").write_text(json.dumps(record))
        assert process.left_behind(home, "part") == []
        process.start(home, part(home, SLEEP))
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_process_that_ends_while_starting_is_reported_with_the_end_of_its_log(home):
    dying = part(home, "import sys; sys.exit('no such setting: colour')", healthy=lambda: False)
    process.start(home, dying)
    with pytest.raises(StackError, match=r"part ended while starting(.|\n)*no such setting: colour") as failure:
        process.wait(home, dying)
    assert failure.value.log == home.logs / "part.log"


def test_a_process_that_never_becomes_healthy_is_reported(home):
    slow = part(home, SLEEP, healthy=lambda: False, timeout=0.5)
    process.start(home, slow)
    with pytest.raises(StackError, match="part is not healthy after 0 s"):
        process.wait(home, slow)


def test_a_port_in_use_is_told_with_its_holder_and_the_way_out(home):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(StackError) as failure:
            process.start(home, part(home, SLEEP, port=port))
    message = str(failure.value)
    assert f"port {port} of 127.0.0.1, which part needs" in message
    assert f"process {os.getpid()} (" in message
    assert "--port-base" in message
    assert process.find(home, "part") is None


def test_a_killed_process_is_seen_as_gone_and_can_be_started_again(home):
    process.start(home, part(home, SLEEP))
    first = process.find(home, "part")
    first.send_signal(signal.SIGKILL)
    process.wait_gone([first], 5)
    assert process.find(home, "part") is None
    assert process.start(home, part(home, SLEEP))
    assert process.find(home, "part").pid != first.pid


def test_strays_are_found_by_the_stack_they_belong_to(home, tmp_path):
    other = Home(tmp_path / "other").make(base=0)
    process.start(home, part(home, SLEEP))
    assert [each.pid for each in process.strays(home)] == [process.find(home, "part").pid]
    assert process.strays(other) == []
