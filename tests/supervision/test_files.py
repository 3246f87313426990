"""The files of a run-state folder: their names are fixed, readers never find a part, and a lock ends with its process."""

import ast
import fcntl
import json
import os
import subprocess
import sys
import threading
import time

import pytest

from stack.instance import ROOT
from supervision import files
from supervision.files import (
    LaunchRecord,
    Locked,
    StreamFolder,
    is_locked,
    locked,
    parse_time,
    read_json,
    stream_folders,
    write_launch,
)

ROOMS = ("bench", "contracts", "dags", "jobs", "serving", "sources", "stack", "supervision", "tests")
LOCKS_FOREVER = """
import fcntl, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print(flush=True)
time.sleep(600)
"""


def test_names_and_formats_are_what_drivers_and_supervisions_of_other_versions_know(folder):
    folder.write_driver({"pid": 7})
    folder.write_heartbeat({"state": "running"})
    folder.write_supervisor("attempt-1")
    folder.request_stop()
    folder.mark_given_up()
    folder.log.write_text("a line\n")
    with locked(folder.driver_lock), locked(folder.launch_lock) as lock:
        write_launch(lock, LaunchRecord(9, 1.5, 3, 2))
    found = {file.name: file.read_text() for file in folder.path.iterdir()}
    assert json.loads(found.pop("launch.lock")) == {"pid": 9, "at": 1.5, "log_offset": 3, "restarts": 2}
    assert found == {
        "driver.lock": "",
        "driver.json": '{"pid": 7}',
        "heartbeat.json": '{"state": "running"}',
        "supervisor": "attempt-1",
        "stop": "",
        "given-up": "",
        "driver.log": "a line\n",
    }
    assert folder.checkpoint == folder.path / "checkpoint"
    assert StreamFolder.of(folder.path.parent, "service-use", "score").path == folder.path


def test_no_other_module_spells_these_names():
    names = {"driver.lock", "driver.json", "heartbeat.json", "launch.lock", "driver.log", "given-up"}
    found = {}
    for file in (file for room in ROOMS for file in (ROOT / room).rglob("*.py")):
        source = file.read_text()
        if not any(name in source for name in names):
            continue  # parsing takes long
        texts = {node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}
        paths = {text for text in texts if isinstance(text, str) and " " not in text}
        if spelled := {path.rpartition("/")[2] for path in paths} & names:
            found[str(file.relative_to(ROOT))] = spelled
    assert found == {"supervision/files.py": names, "tests/supervision/test_files.py": names}


def test_what_is_written_is_read_and_what_is_not_there_is_empty(folder):
    assert (folder.read_driver(), folder.read_heartbeat(), folder.read_launch()) == ({}, {}, LaunchRecord())
    assert (folder.read_supervisor(), folder.stop_requested()) == ("", False)
    folder.write_driver({"pid": 7})
    folder.write_heartbeat({"state": "running"})
    folder.write_supervisor("attempt-1")
    folder.request_stop()
    with locked(folder.launch_lock) as lock:
        write_launch(lock, LaunchRecord(123_456, 1_700_000_000.123, 99))
        write_launch(lock, LaunchRecord(1, 2.0, 3))
    assert (folder.read_driver(), folder.read_heartbeat()) == ({"pid": 7}, {"state": "running"})
    assert folder.read_launch() == LaunchRecord(1, 2.0, 3), "nothing of the longer record before is left"
    assert (folder.read_supervisor(), folder.stop_requested()) == ("attempt-1", True)
    folder.clear_stop()
    folder.clear_stop()
    assert not folder.stop_requested()


def test_a_supervisor_makes_the_folder_of_a_stream_that_never_ran(tmp_path):
    folder = StreamFolder.of(tmp_path / "streams", "service-use", "score")
    folder.write_supervisor("attempt-1")
    assert folder.read_supervisor() == "attempt-1"


@pytest.mark.parametrize("text", ['{"at": "20', "[]", "5", "", "\xff"])
def test_a_file_that_is_no_json_object_is_empty(folder, text):
    folder.heartbeat_file.write_bytes(text.encode("latin-1"))
    assert read_json(folder.heartbeat_file) == {}
    assert folder.read_heartbeat() == {}


def test_a_reader_never_finds_a_part(folder):
    long, ended = {"text": "x" * 200_000}, threading.Event()

    def write() -> None:
        while not ended.is_set():
            folder.write_heartbeat(long)

    folder.write_heartbeat(long)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert all(folder.read_heartbeat() == long for _ in range(200))
    finally:
        ended.set()
        writer.join()


def test_a_stream_is_given_up_once_until_that_is_cleared(folder):
    assert not folder.is_given_up()
    folder.mark_given_up()
    folder.mark_given_up()
    assert folder.is_given_up()
    folder.clear_given_up()
    folder.clear_given_up()
    assert not folder.is_given_up()


def test_that_a_stream_was_given_up_is_told_until_that_is_cleared(folder):
    folder.mark_told()
    assert not folder.is_told(), "a stream that was not given up, or is not any more"
    folder.mark_given_up()
    assert not folder.is_told()
    folder.mark_told()
    folder.mark_given_up()
    assert folder.is_told()
    folder.clear_given_up()
    assert (folder.is_told(), folder.is_given_up()) == (False, False)


def test_each_heartbeat_has_another_mark_until_reports_are_cleared(folder):
    folder.clear_reports()
    assert folder.heartbeat_mark() == 0
    folder.write_driver({"pid": 7})
    folder.write_heartbeat({"state": "running"})
    first = folder.heartbeat_mark()
    os.utime(folder.heartbeat_file, ns=(first + 1, first + 1))
    assert first > 0
    assert folder.heartbeat_mark() == first + 1
    folder.clear_reports()
    assert (folder.heartbeat_mark(), folder.read_heartbeat(), folder.read_driver()) == (0, {}, {})


def test_the_end_of_the_log_is_bounded_and_of_the_last_launch_only(folder):
    assert (folder.log_tail(), folder.read_log(0, 10), folder.log_age()) == ("", ("", 0), 0.0)
    folder.log.write_bytes(b"of the driver before\n")
    offset = folder.log.stat().st_size
    with locked(folder.launch_lock) as lock:
        write_launch(lock, LaunchRecord(1, time.time(), offset))
    with folder.log.open("ab") as log:
        log.write(b"first\nsecond\n")
    assert folder.log_tail() == "first\nsecond"
    with folder.log.open("ab") as log:
        log.write(b"x" * 100_000 + b"\n" + b"line\n" * 100)
    assert folder.log_tail() == "\n".join(["line"] * 40)
    assert folder.read_log(0, 10) == ("line\nline\n", folder.log.stat().st_size)
    assert folder.read_log(offset, 10**9)[0].startswith("first\nsecond\nxxx")
    os.utime(folder.log, (0, time.time() - 100))
    assert 99 < folder.log_age() < 1000


def test_a_long_log_is_moved_aside(folder, monkeypatch):
    monkeypatch.setattr(files, "LOG_BYTES", 10)
    folder.rotate_log()
    folder.log.write_text("0123456789")
    folder.rotate_log()
    assert folder.log.exists()
    folder.log.write_text("0123456789+")
    folder.rotate_log()
    assert not folder.log.exists()
    assert (folder.path / "driver.log.1").read_text() == "0123456789+"


def test_folders_come_by_name_and_files_are_none(tmp_path, folder):
    assert stream_folders(tmp_path / "nowhere") == []
    (folder.path.parent / "a.queries").mkdir()
    (folder.path.parent / "no-stream").mkdir()
    (folder.path.parent / "starts.txt").touch()
    assert [each.name for each in stream_folders(folder.path.parent)] == ["a.queries", "service-use.score"]


def test_a_lock_ends_with_the_process_that_took_it(folder):
    lock = folder.driver_lock
    assert not is_locked(lock)
    process = subprocess.Popen([sys.executable, "-c", LOCKS_FOREVER, str(lock)], stdout=subprocess.PIPE)
    process.stdout.readline()
    assert is_locked(lock)
    with pytest.raises(Locked, match=r"driver\.lock"), locked(lock):
        pass
    process.kill()
    process.wait()
    process.stdout.close()
    assert not is_locked(lock)
    with locked(lock):
        assert is_locked(lock)
    assert not is_locked(lock)


def test_a_process_that_only_looks_prevents_no_lock(folder, monkeypatch):
    """A look takes a shared lock for microseconds; here it takes it until the second attempt."""
    look = folder.driver_lock.open("w")
    fcntl.flock(look, fcntl.LOCK_SH)
    monkeypatch.setattr(time, "sleep", lambda _: look.close())
    with locked(folder.driver_lock):
        assert is_locked(folder.driver_lock)


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2026-11-23T10:00:00", "2026-11-23T10:00:00+00:00"),
        ("2026-11-23T10:00:00.250+02:00", "2026-11-23T10:00:00.250000+02:00"),
        ("2026-11-23T10:00:00Z", "2026-11-23T10:00:00+00:00"),
        ("yesterday", None),
        (None, None),
        (5, None),
    ],
)
def test_times_are_iso_8601_and_in_utc_without_an_offset(text, iso):
    found = parse_time(text)
    assert (found and found.isoformat()) == iso
