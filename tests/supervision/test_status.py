"""A stream's state follows from its lock and its heartbeat."""

import datetime as dt
import os

import pytest

from supervision.files import LaunchRecord, StreamFolder, locked, write_launch
from supervision.status import LAUNCH_WITHIN, STALE_SECONDS, read_all, read_status

NOW = dt.datetime.now(dt.UTC)


def ago(seconds: float) -> dt.datetime:
    return NOW - dt.timedelta(seconds=seconds)


@pytest.fixture
def folder(tmp_path) -> StreamFolder:
    made = StreamFolder.of(tmp_path / "streams", "service-use", "score")
    made.make()
    return made


@pytest.fixture
def driver(folder):
    """A driver that lives and has given no heartbeat yet; started a minute ago."""
    with locked(folder.driver_lock):
        folder.write_driver({"pid": 7, "started_at": ago(60).isoformat()})
        yield folder


def beat(folder: StreamFolder, at: dt.datetime, **fields) -> None:
    folder.write_heartbeat({"at": at.isoformat(), "state": "running", **fields})


@pytest.mark.parametrize("state", ["starting", "running", "swapping", "stopping"])
def test_a_living_stream_is_what_its_heartbeat_says(driver, state):
    beat(driver, ago(0.5), state=state, baseline_version=4)
    found = read_status(driver, NOW)
    assert (found.name, found.pid, found.state, found.problem, found.age) == ("service-use.score", 7, state, None, 0.5)
    assert found.heartbeat["baseline_version"] == 4


def test_a_driver_that_does_not_report_is_stale(driver):
    beat(driver, ago(STALE_SECONDS + 20))
    found = read_status(driver, NOW)
    assert (found.state, found.age) == ("stale", 30.0)
    assert found.problem == "driver 7 lives but has not reported for 30 s: see service-use.score/driver.log"


def test_an_unknown_state_is_not_believed(driver):
    beat(driver, NOW, state="dancing")
    assert read_status(driver, NOW).state == "stale"
    assert "'dancing'" in read_status(driver, NOW).problem


def test_before_its_first_heartbeat_a_driver_is_starting(driver):
    found = read_status(driver, NOW)
    assert (found.state, found.age, found.heartbeat) == ("starting", None, {})


def test_a_driver_reports_also_when_the_clock_was_set_back_since_its_start(driver):
    beat(driver, ago(600), baseline_version=4)
    found = read_status(driver, ago(599))
    assert (found.state, found.age, found.heartbeat["baseline_version"]) == ("running", 1.0, 4)


def test_a_stream_that_the_supervision_has_just_taken_over_is_starting(folder):
    folder.write_supervisor("attempt-1")
    taken = dt.datetime.fromtimestamp(folder.look_mark() / 1e9, dt.UTC)
    found = read_status(folder, taken + dt.timedelta(seconds=LAUNCH_WITHIN - 1))
    assert (found.state, found.problem, found.since) == ("starting", None, taken)
    found = read_status(folder, taken + dt.timedelta(seconds=LAUNCH_WITHIN + 1))
    assert (found.state, found.problem) == ("dead", "no readable driver.json: no driver got that far")
    with locked(folder.launch_lock) as lock:
        write_launch(lock, LaunchRecord(7, taken.timestamp(), 0, 0))
    assert read_status(folder, taken).state == "dead", "the first launch has failed"


def test_a_driver_whose_lock_is_free_is_dead_however_fresh_its_heartbeat(folder):
    folder.driver_lock.touch()
    folder.write_driver({"pid": 1, "started_at": ago(60).isoformat()})
    beat(folder, NOW)
    found = read_status(folder, NOW)
    assert (found.state, found.pid, found.alive) == ("dead", None, False), "pid 1 lives, but is no driver"
    assert found.problem == "driver 1 is gone: see service-use.score/driver.log"
    beat(folder, NOW, state="stopping")
    assert (read_status(folder, NOW).state, read_status(folder, NOW).problem) == ("stopped", None)
    beat(folder, NOW, state="stopping", last_error="ConnectionRefusedError: the JVM is gone")
    assert read_status(folder, NOW).state == "dead", "it had time for a last heartbeat, but no stop was requested"


def test_half_written_files_are_no_error(driver):
    for text in ('{"at": "20', "[]", '{"at": 5}', ""):
        driver.heartbeat_file.write_text(text)
        assert read_status(driver, NOW).state == "starting"
    driver.driver_file.write_text("[]")
    assert read_status(driver, NOW).pid is None


def test_an_empty_folder_is_dead(folder):
    assert read_status(folder, NOW).state == "dead"
    assert "no readable driver.json" in read_status(folder, NOW).problem


def test_a_driver_that_was_launched_starts_before_it_reports(folder):
    with locked(folder.launch_lock):
        assert (read_status(folder, NOW).state, read_status(folder, NOW).problem) == ("starting", None)
        folder.write_driver({"pid": 1, "started_at": ago(60).isoformat()})
        assert read_status(folder, NOW).state == "dead", "its JVM alone lives"
    folder.driver_file.unlink()
    assert read_status(folder, NOW).state == "dead", "spark-submit has ended"


def test_streams_come_by_name(tmp_path, folder):
    assert read_all(tmp_path / "nowhere") == []
    (folder.path.parent / "a.score").mkdir()
    (folder.path.parent / "no-stream").mkdir()
    (folder.path.parent / "starts.txt").touch()
    assert [each.name for each in read_all(folder.path.parent)] == ["a.score", "service-use.score"]


def test_a_stream_is_given_up_while_it_is_marked_so(folder):
    assert not read_status(folder).given_up
    folder.mark_given_up()
    assert read_status(folder).given_up


@pytest.mark.parametrize("state", ["running", "stopping"])
@pytest.mark.parametrize(("in_charge", "off"), [(None, False), ("attempt-1", False), ("", True)])
def test_a_stream_is_switched_off_by_a_person_and_not_by_its_drivers_end(folder, state, in_charge, off):
    folder.write_driver({"pid": 1, "started_at": ago(60).isoformat()})
    beat(folder, ago(5), state=state)
    if in_charge is not None:
        folder.write_supervisor(in_charge)
    found, by_hand = read_status(folder, NOW), in_charge is None and state == "stopping"
    assert found.switched_off == (off or by_hand)
    assert found.state == ("stopped" if off or state == "stopping" else "dead")


def test_a_driver_that_still_ends_is_not_switched_off(driver):
    beat(driver, ago(0.5))
    driver.write_supervisor("")
    assert (read_status(driver, NOW).state, read_status(driver, NOW).switched_off) == ("running", False)


@pytest.mark.parametrize(
    ("beats", "in_charge", "since"),
    [
        ({"state": "running", "at": ago(0.5)}, "attempt-1", ago(60)),
        ({"state": "swapping", "at": ago(0.5)}, "attempt-1", ago(60)),
        ({"state": "running", "at": ago(30)}, "attempt-1", ago(30)),
        (None, "attempt-1", ago(90)),
    ],
)
def test_since_when_a_driver_that_lives_is_in_its_state(driver, beats, in_charge, since):
    assert read_status(driver, NOW).since is None
    write(driver, beats, in_charge)
    assert close(read_status(driver, NOW).since, since)


@pytest.mark.parametrize(
    ("beats", "in_charge", "since"),
    [
        ({"state": "running", "at": ago(30)}, "attempt-1", ago(30)),
        (None, "attempt-1", ago(90)),
        ({"state": "running", "at": ago(30)}, "", ago(20)),
        ({"state": "stopping", "at": ago(30)}, "attempt-1", ago(30)),
    ],
)
def test_since_when_a_driver_is_gone(folder, beats, in_charge, since):
    write(folder, beats, in_charge)
    assert close(read_status(folder, NOW).since, since)


def write(folder, beats, in_charge):
    """A driver that was launched 90 s ago, began 60 s ago, and was looked at 20 s ago."""
    with locked(folder.launch_lock) as lock:
        write_launch(lock, LaunchRecord(7, ago(90).timestamp(), restarts=2))
    folder.write_driver({"pid": 7, "started_at": ago(60).isoformat()})
    if beats:
        folder.write_heartbeat(beats | {"at": beats["at"].isoformat()})
    folder.write_supervisor(in_charge)
    os.utime(folder.supervisor_file, (0, ago(20).timestamp()))
    assert read_status(folder, NOW).restarts == 2


def close(found, wanted):
    return abs(found - wanted) < dt.timedelta(seconds=0.001)


def test_when_a_stream_was_launched_and_looked_at(folder):
    assert (read_status(folder).launched_at, read_status(folder).supervised_at) == (None, None)
    with locked(folder.launch_lock) as lock:
        write_launch(lock, LaunchRecord(7, ago(90).timestamp()))
    folder.write_supervisor("attempt-1")
    os.utime(folder.supervisor_file, (0, ago(20).timestamp()))
    found = read_status(folder)
    assert abs(found.launched_at - ago(90)) < dt.timedelta(seconds=0.001)
    assert abs(found.supervised_at - ago(20)) < dt.timedelta(seconds=0.001)
