"""Files of lines: whole, zipped, and while they grow, are rotated or cut."""

import gzip
import queue
import threading

import pytest

from sources import lines
from sources.capture import CaptureError
from sources.lines import LineFile


def test_every_line_is_a_record_with_its_number(tmp_path):
    plain, zipped = tmp_path / "access.log", tmp_path / "access.log.gz"
    plain.write_bytes(b"one\r\n\ntwo \xff\nlast")
    zipped.write_bytes(gzip.compress(plain.read_bytes()))
    for file in (plain, zipped):
        found = list(LineFile(file).records(threading.Event()))
        assert [record.value for record in found] == [b"one", b"", b"two \xff", b"last"]
        assert {record.key for record in found} == {file.name}
        assert found[2].headers == (("file", file.name.encode()), ("line", b"3"))


def test_what_can_not_be_read_is_said(tmp_path):
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(b"line\n" * 1000)[:-9])
    with pytest.raises(CaptureError, match=r"cut\.gz: "):
        list(LineFile(cut).records(threading.Event()))
    with pytest.raises(CaptureError, match="no such file"):
        LineFile(tmp_path / "none.log")
    with pytest.raises(CaptureError, match="--follow is for a file that grows"):
        LineFile(cut, follow=True)


@pytest.fixture
def followed(tmp_path, monkeypatch):
    """The file that is followed, and next(): the next line that comes of it, as (number, text)."""
    monkeypatch.setattr(lines, "POLL", 0.02)
    file, found, stop = tmp_path / "access.log", queue.Queue(), threading.Event()
    file.write_bytes(b"")

    def follow() -> None:
        for record in LineFile(file, follow=True).records(stop):
            found.put((record.line, record.value.decode()))

    thread = threading.Thread(target=follow)
    thread.start()
    yield file, lambda: found.get(timeout=10)
    stop.set()
    thread.join(10)
    assert not thread.is_alive()
    assert found.empty()


def add(file, text: str) -> None:
    with file.open("a") as out:
        out.write(text)


def test_a_line_that_has_no_end_yet_waits_for_it(followed):
    file, following = followed
    add(file, "one\ntw")
    assert following() == (1, "one")
    add(file, "o")
    add(file, "\nthree\n")
    assert [following(), following()] == [(2, "two"), (3, "three")]
    add(file, "never ended")


def test_a_file_that_was_rotated_is_read_to_its_end_and_then_its_successor(followed):
    file, following = followed
    add(file, "one\n")
    assert following() == (1, "one")
    old = file.with_suffix(".log.1")
    file.rename(old)
    add(old, "two\n")
    assert following() == (2, "two")
    add(old, "three\nhalf")  # written before the server has opened its new file
    add(file, "new\n")
    assert [following(), following(), following()] == [(3, "three"), (4, "half"), (1, "new")]


def test_a_file_that_was_cut_is_read_anew(followed):
    file, following = followed
    add(file, "one\ntwo\n")
    assert [following(), following()] == [(1, "one"), (2, "two")]
    file.write_text("1\n")
    assert following() == (1, "1")
