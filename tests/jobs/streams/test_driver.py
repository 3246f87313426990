"""A driver's heartbeats: each second, whatever measuring does."""

import os
import threading
import time
from contextlib import suppress
from types import SimpleNamespace

import pytest

from jobs.errors import JobError
from jobs.streams import driver
from jobs.streams.driver import Driver
from supervision.status import stopped_on_request
from tests.support.waiting import until


@pytest.fixture
def running(tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "HEARTBEAT_SECONDS", 0.02)
    monkeypatch.setattr(driver.signal, "signal", lambda *_: None)  # the test run's own stay
    with Driver(SimpleNamespace(streams=tmp_path, unattended=3), "calls", "score") as made:
        yield made


def beats(running: Driver) -> dict:
    """The newest of three new heartbeats."""
    for _ in range(3):
        before = running.folder.heartbeat_mark()
        until("a heartbeat", lambda before=before: running.folder.heartbeat_mark() != before)
    return running.folder.read_heartbeat()


def measured(running: Driver) -> dict:
    """The health of a heartbeat, without the time at which it was measured."""
    return {name: value for name, value in beats(running)["health"].items() if name != "measured_at"}


def test_a_heartbeat_has_what_was_measured_last(running):
    assert beats(running)["health"] == {}
    running.measured_by(lambda: {"lag_records": 3})
    until("it is measured", lambda: measured(running) == {"lag_records": 3})
    assert running.folder.read_heartbeat()["health"]["measured_at"]


def test_while_the_broker_is_silent_heartbeats_go_on_with_the_figures_before(running):
    answers, asked = threading.Event(), threading.Event()
    figures = iter([{"lag_records": 3}])

    def measure() -> dict:
        if figure := next(figures, None):
            return figure
        asked.set()
        answers.wait(60)
        raise JobError("Kafka does not say how far the topics go")

    running.measured_by(measure)
    assert asked.wait(60)
    assert measured(running) == {"lag_records": 3}
    answers.set()
    assert measured(running) == {"lag_records": 3}


def test_what_the_query_before_is_still_measured_by_is_not_reported_of_the_new_one(running):
    answers, asked = threading.Event(), threading.Event()

    def of_old_query() -> dict:
        asked.set()
        answers.wait(60)
        return {"lag_records": 1_000_000}

    running.measured_by(of_old_query)
    assert asked.wait(60)
    running.measured_by(dict)
    answers.set()
    assert [measured(running) for _ in range(3)] == [{}] * 3


def test_measuring_that_fails_is_printed_and_tried_again(running, capsys):
    outcomes = iter([ZeroDivisionError("division by zero")])

    def measure() -> dict:
        if error := next(outcomes, None):
            raise error
        return {"lag_records": 0}

    running.measured_by(measure)
    until("it is measured", lambda: measured(running) == {"lag_records": 0})
    assert "ZeroDivisionError: division by zero" in capsys.readouterr().err


def test_a_driver_whose_jvm_hangs_gives_no_heartbeat_until_it_answers(running, monkeypatch):
    answers, asked = threading.Event(), threading.Event()

    def ask() -> str:
        asked.set()
        assert answers.wait(60)
        return "4.1"

    monkeypatch.setattr(driver, "JVM_SECONDS", 0.2)
    running.runs_as("local-1", ask)
    assert running.folder.read_driver()["spark_application"] == "local-1"
    assert asked.wait(60)
    time.sleep(1)  # longer than JVM_SECONDS; a heartbeat that has begun is written
    mark = running.folder.heartbeat_mark()
    time.sleep(3 * driver.HEARTBEAT_SECONDS)
    assert running.folder.heartbeat_mark() == mark
    monkeypatch.setattr(driver, "JVM_SECONDS", 60)
    answers.set()
    assert beats(running)["state"] == "starting"


def test_a_jvm_that_has_ended_is_not_asked_again_and_the_driver_says_how_it_ends(running, monkeypatch):
    asked = threading.Event()

    def ask() -> None:
        asked.set()
        raise ConnectionResetError("the JVM is gone")

    monkeypatch.setattr(driver, "JVM_SECONDS", 0.0)
    running.runs_as("local-1", ask)
    assert asked.wait(60)
    asked.clear()
    assert beats(running)["state"] == "starting"
    assert not asked.is_set()


def test_a_driver_that_nothing_supervises_any_more_ends_and_says_so(running, monkeypatch):
    """Its clock is its own: what the files' times say does not count."""
    clock = iter([0, 1, 3.5, 6.4, 6.6])
    monkeypatch.setattr(driver, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    running.folder.write_supervisor("attempt-1")
    os.utime(running.folder.supervisor_file, (1, 1))
    assert not running.wait(0)
    assert not running.wait(0)
    running.folder.look()
    assert not running.wait(0)
    assert not running.wait(0), "3 s, and no more"
    assert running.wait(0)
    assert beats(running)["last_error"] == "nothing has supervised this stream for 3 s, so it has ended"


def test_a_driver_that_was_never_supervised_runs_on(running, monkeypatch):
    monkeypatch.setattr(driver, "time", SimpleNamespace(monotonic=iter([0, 1e9]).__next__))
    assert not running.wait(0)
    assert not running.wait(0)


@pytest.mark.parametrize(
    ("error", "last"),
    [(None, None), (JobError("query failed: the disk is full"), "JobError: query failed: the disk is full")],
)
def test_only_what_ended_a_driver_is_its_last_error(tmp_path, monkeypatch, error, last):
    """An error that it went on with is none of a stop on request: the supervision would count it as a failure."""
    monkeypatch.setattr(driver.signal, "signal", lambda *_: None)
    with suppress(JobError), Driver(SimpleNamespace(streams=tmp_path, unattended=3), "calls", "score") as made:
        made.report(state="running", last_error="no handover: the registry is silent")
        made.folder.request_stop()
        assert made.wait(0)
        if error:
            raise error
    found = made.folder.read_heartbeat()
    assert (found["last_error"], stopped_on_request(found)) == (last, error is None)


def test_a_disk_that_is_full_for_a_moment_does_not_end_the_heartbeats(running, monkeypatch):
    write, tried = running.folder.write_heartbeat, []

    def full(heartbeat: dict) -> None:
        tried.append(1)
        if len(tried) <= 3:
            raise OSError(28, "No space left on device")
        write(heartbeat)

    monkeypatch.setattr(running.folder, "write_heartbeat", full)
    until("the disk was full", lambda: len(tried) >= 3)
    assert beats(running)["state"] == "starting"
