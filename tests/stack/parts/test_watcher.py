"""The watcher starts again what ended, and nothing else: with parts that only sleep, and once as the process that it is."""

import json
import signal
import sys

import psutil
import pytest

from stack.commands import status as shown
from stack.instance import SPARK_MASTER, Instance
from stack.parts import lifecycle, process, serving, status, watcher
from stack.parts.restarts import Limits
from stack.parts.watcher import Restarts, Watched, Watcher
from tests.support.waiting import until

SLEEP = "import time; print('sleeping', flush=True); time.sleep(600)"
AT_ONCE = Limits(first_pause=0)
AN_HOUR = Limits(first_pause=3600, longest_pause=3600)


@pytest.fixture
def instance(tmp_path):
    made = Instance(tmp_path / "home").make(base=0)
    yield made
    process.kill(process.strays(made))


@pytest.fixture
def said() -> list[str]:
    return []


def sleeper(instance: Instance, name: str, script: str = SLEEP, **more) -> Watched:
    part = process.Part(name, [sys.executable, "-c", script], instance.process_environment(), lambda: True, **more)
    return Watched(lambda: part, lambda: process.find(instance, name) is not None)


def started(instance: Instance, *names: str) -> dict[str, Watched]:
    parts = {name: sleeper(instance, name) for name in names}
    for each in parts.values():
        process.start(instance, each.part())
    for name in names:
        until("it sleeps", lambda name=name: process.log_file(instance, name).read_text())
    return parts


def end(instance: Instance, name: str) -> psutil.Process:
    ended = process.find(instance, name)
    ended.kill()
    assert not process.wait_gone([ended], 60)
    return ended


def pid(instance: Instance, name: str) -> int | None:
    found = process.find(instance, name)
    return found and found.pid


def test_what_ended_is_started_again_and_the_others_are_left_alone(instance, said):
    parts, watching = started(instance, "one", "other"), Watcher(said.append, AT_ONCE)
    before = pid(instance, "other")
    watching.look(instance, parts)
    assert said == []
    ended = end(instance, "one")
    watching.look(instance, parts)
    assert pid(instance, "one") not in (None, ended.pid)
    assert pid(instance, "other") == before
    assert said == ["one has ended. Its log ends:\nsleeping", "one is started again"]
    assert watching.told.keys() == {"one"}
    assert watching.told["one"].restarts == 1


def test_a_pause_comes_first_and_status_says_how_long(instance, said):
    parts, watching = started(instance, "serving"), Watcher(said.append, AN_HOUR)
    process.start(instance, process.Part(watcher.NAME, [sys.executable, "-c", SLEEP], instance.process_environment(), bool))
    end(instance, "serving")
    watching.look(instance, parts)
    assert process.find(instance, "serving") is None
    row = {row.name: row for row in status.rows(instance)}["serving"]
    assert (row.state, row.restarts, row.last_restart) == ("dead", 0, None)
    assert 3500 < row.restart_in_seconds <= 3600
    end(instance, watcher.NAME)
    (row,) = [row for row in status.rows(instance) if row.name == "serving"]
    assert row.restart_in_seconds is None, "without a watcher, nobody starts it"


def test_what_a_command_stopped_stays_stopped(instance, said):
    parts, watching = started(instance, "one"), Watcher(said.append, AT_ONCE)
    watching.look(instance, parts)
    process.stop(instance, "one")
    watching.look(instance, parts)
    assert process.find(instance, "one") is None
    assert process.recorded(instance) == []


def test_what_a_command_stops_at_that_moment_stays_stopped(instance, said):
    """It has ended by itself, and before it is started, `down` has taken its record away."""
    parts, watching = started(instance, "one"), Watcher(said.append, AT_ONCE)
    end(instance, "one")

    def part() -> process.Part:
        process.stop(instance, "one")
        return parts["one"].part()

    watching.look(instance, {"one": Watched(part, lambda: True)})
    assert process.find(instance, "one") is None


def test_nothing_is_started_while_a_command_starts_or_stops_the_stack(instance, said):
    parts, watching = started(instance, "one"), Watcher(said.append, AT_ONCE)
    end(instance, "one")
    with instance.locked():
        watching.look(instance, parts)
        assert process.find(instance, "one") is None
    watching.look(instance, parts)
    assert process.find(instance, "one")
    assert watching.told["one"].restarts == 1, "looking at a locked stack is no restart"


def test_what_it_needs_comes_first(instance, said):
    parts, watching = started(instance, "broker", "reader"), Watcher(said.append, AT_ONCE)
    up = []
    parts["broker"] = Watched(parts["broker"].part, lambda: bool(up))
    parts["reader"] = Watched(parts["reader"].part, parts["reader"].healthy, needs=("broker",))
    end(instance, "reader")
    watching.look(instance, parts)
    assert process.find(instance, "reader") is None
    assert watching.told["reader"].lacks == ("broker",)
    up.append(True)
    watching.look(instance, parts)
    assert process.find(instance, "reader")
    assert watching.told["reader"].lacks == ()


def test_a_part_that_can_not_be_started_keeps_no_other_from_it(instance, said):
    parts, watching = started(instance, "one", "other"), Watcher(said.append, AT_ONCE)

    def broken() -> process.Part:
        raise RuntimeError("no broker says where")

    for name in parts:
        end(instance, name)
    watching.look(instance, parts | {"one": Watched(broken, lambda: True)})
    assert "one could not be started: no broker says where" in said
    assert process.find(instance, "other")
    watching.look(instance, parts)
    assert process.find(instance, "one"), "the next look tries again"


def test_the_pause_grows_while_it_keeps_ending_and_starts_over_after_five_minutes_of_health(instance, said):
    now = [0.0]
    parts, watching = started(instance, "one"), Watcher(said.append, clock=lambda: now[0])

    def ends() -> float:
        """It ends, and is started again when it is due; after how many seconds that is."""
        end(instance, "one")
        began = now[0]
        while not process.find(instance, "one"):
            watching.look(instance, parts)
            now[0] += 0.5
        watching.look(instance, parts)
        return now[0] - 0.5 - began

    assert [ends(), ends(), ends()] == [1, 2, 4]
    now[0] += 300
    watching.look(instance, parts)
    assert ends() == 1
    assert watching.told["one"].restarts == 4


def test_status_shows_restarts_to_people(instance):
    row = {"restart_in_seconds": 7.6, "waits_for": [], "restarts": 2, "last_restart": "2026-03-01T14:03:05+00:00"}
    assert (shown.coming(row), shown.restarts(row)) == (", restarting in 8 s", "2, last at 14:03:05 UTC")
    assert shown.coming(row | {"waits_for": ["kafka"]}) == ", waits for kafka"
    never = {"restart_in_seconds": None, "waits_for": [], "restarts": 0, "last_restart": None}
    assert (shown.coming(never), shown.restarts(never)) == ("", "")


def test_down_stops_the_watcher_before_all_others(instance, said):
    started(instance, "kafka", "airflow-scheduler", "serving", watcher.NAME, "registry", "live")
    lifecycle.down(instance, said.append)
    assert said[:2] == ["watcher stopped", "Airflow stopped"]
    assert said[-2:] == ["registry stopped", "kafka stopped"]
    assert process.strays(instance) == []


@pytest.mark.full
def test_the_watcher_is_a_process_that_starts_a_real_part_again(instance, monkeypatch):
    """Serving, which runs without a broker as well."""
    monkeypatch.setenv(SPARK_MASTER, "spark://head:7077")  # the person who starts a stack may say it, and Airflow asks for it
    process.start(instance, serving.part(instance))
    watcher.start(instance)
    until("serving answers", lambda: serving.healthy(instance))
    ended = process.find(instance, serving.NAME)
    environment = ended.environ()
    ended.send_signal(signal.SIGKILL)
    until("another process", lambda: pid(instance, serving.NAME) not in (None, ended.pid))
    until("it answers", lambda: serving.healthy(instance))
    assert process.find(instance, serving.NAME).environ() == environment, "the environment that it had"
    until("it is told", lambda: watcher.restarts(instance).get(serving.NAME, Restarts()).restarts == 1)
    assert "serving is started again" in process.log_file(instance, watcher.NAME).read_text()
    for secret in instance.secrets.values():
        assert secret not in json.dumps([process.find(instance, name).cmdline() for name in (watcher.NAME, serving.NAME)])
        assert secret not in (instance.path / watcher.STATE).read_text()


def test_the_watcher_ends_with_the_stacks_folder(instance):
    watcher.start(instance)
    (instance.path / "ports.json").unlink()
    until("its end", lambda: process.find(instance, watcher.NAME) is None)
    assert process.log_file(instance, watcher.NAME).read_text() == "", "it has not crashed"
