"""Processes are recorded, watched and stopped: with all they started, and no others."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest

from stack.errors import StackError
from stack.instance import Instance
from stack.parts import process
from supervision import machine
from tests.support.waiting import until


@pytest.fixture
def instance(tmp_path):
    made = Instance(tmp_path / "home").make(base=0)
    yield made
    process.kill(process.strays(made))


def part(instance: Instance, script: str, healthy=lambda: True, **more) -> process.Part:
    return process.Part("part", [sys.executable, "-c", script], instance.process_environment(), healthy, **more)


SLEEP = "import time; time.sleep(600)"


def test_a_started_process_is_found_and_a_second_start_leaves_it_alone(instance):
    assert process.start(instance, part(instance, SLEEP))
    first = process.find(instance, "part")
    assert not process.start(instance, part(instance, SLEEP))
    assert process.find(instance, "part") == first
    assert os.getsid(first.pid) == first.pid  # it outlives the terminal it was started from


def test_a_recycled_pid_is_neither_found_nor_killed(instance):
    stranger = subprocess.Popen([sys.executable, "-c", SLEEP])
    try:
        record = {"pid": stranger.pid, "created": psutil.Process(stranger.pid).create_time() - 3600, "port": None}
        (instance.runs / "part.json").write_text(json.dumps(record))
        assert process.find(instance, "part") is None
        assert process.stop(instance, "part") is False
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_stop_ends_children_that_ignore_being_asked(instance):
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
    process.start(instance, part(instance, f"import subprocess, sys; subprocess.run([sys.executable, '-c', {stubborn!r}])"))
    log = process.log_file(instance, "part")
    deadline = time.monotonic() + 10
    while "ready" not in log.read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(process.strays(instance)) == 2
    assert process.stop(instance, "part", grace=1)
    assert process.strays(instance) == []
    assert process.recorded(instance) == []


def test_a_start_ends_what_a_killed_predecessor_has_left_behind(instance):
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
    process.start(instance, part(instance, child))
    leader = process.find(instance, "part")
    deadline = time.monotonic() + 10
    while not (children := leader.children()) and time.monotonic() < deadline:
        time.sleep(0.05)
    leader.kill()
    process.wait_gone([leader], 5)
    assert process.left_behind(instance, "part") == children
    assert process.start(instance, part(instance, SLEEP))
    assert process.gone(children[0])
    assert process.left_behind(instance, "nobody") == []


def test_a_stranger_with_a_recycled_pid_is_not_taken_for_something_left_behind(instance):
    stranger = subprocess.Popen([sys.executable, "-c", SLEEP], start_new_session=True)
    try:
        record = {"pid": stranger.pid, "created": psutil.Process(stranger.pid).create_time() - 3600, "port": None}
        (instance.runs / "part.json").write_text(json.dumps(record))
        assert process.left_behind(instance, "part") == []
        process.start(instance, part(instance, SLEEP))
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_process_that_ends_while_starting_is_reported_with_the_end_of_its_log(instance):
    dying = part(instance, "import sys; sys.exit('no such setting: colour')", healthy=lambda: False)
    process.start(instance, dying)
    with pytest.raises(StackError, match=r"part ended while starting(.|\n)*no such setting: colour") as failure:
        process.wait(instance, dying)
    assert failure.value.log == instance.logs / "part.log"


def test_a_process_that_never_becomes_healthy_is_reported_later_on_a_busy_machine(instance, monkeypatch):
    monkeypatch.setattr(machine, "slowness", lambda: 4.0)
    slow = part(instance, SLEEP, healthy=lambda: False, timeout=0.5)
    process.start(instance, slow)
    with pytest.raises(StackError, match="part is not healthy after 2 s"):
        process.wait(instance, slow)


def test_a_port_in_use_is_told_with_its_holder_and_the_way_out(instance):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(StackError) as failure:
            process.start(instance, part(instance, SLEEP, port=port))
    message = str(failure.value)
    assert f"port {port} of 127.0.0.1, which part needs" in message
    assert f"process {os.getpid()} (" in message
    assert "--port-base" in message
    assert process.find(instance, "part") is None


def test_a_killed_process_is_seen_as_gone_and_can_be_started_again(instance):
    process.start(instance, part(instance, SLEEP))
    first = process.find(instance, "part")
    first.send_signal(signal.SIGKILL)
    process.wait_gone([first], 5)
    assert process.find(instance, "part") is None
    assert process.start(instance, part(instance, SLEEP))
    assert process.find(instance, "part").pid != first.pid


def test_strays_are_found_by_the_stack_they_belong_to(instance, tmp_path):
    other = Instance(tmp_path / "other").make(base=0)
    process.start(instance, part(instance, SLEEP))
    # A process that has just been started shows no environment until the kernel has laid out its memory.
    until(
        "its environment shows", lambda: [each.pid for each in process.strays(instance)] == [process.find(instance, "part").pid]
    )
    assert process.strays(other) == []
