"""What a machine cannot have is left out, and said."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from bench.chaos import place
from bench.chaos.options import parser, without


def test_a_library_that_does_not_set_the_clock_is_refused(tmp_path, capsys):
    assert not place.works(tmp_path / "libfaketimeMT.so.1")
    with pytest.raises(SystemExit):
        parser().parse_args(["--faketime", str(tmp_path / "libfaketimeMT.so.1")])
    assert "does not set a process's clock" in capsys.readouterr().err


def test_without_a_clock_and_a_disk_their_faults_are_left_out(monkeypatch):
    monkeypatch.setattr(place, "faketime", lambda: None)
    monkeypatch.setattr(place, "has_small_disk", lambda: False)
    assert without(parser().parse_args([])) == ["clock_ahead", "clock_back", "disk_full"]


def test_the_copy_is_the_repository_without_what_was_made(tmp_path):
    copy = place.copied(tmp_path)
    assert (copy / "schemas/feeds/service-use.yaml").read_text() == (place.REPO / "schemas/feeds/service-use.yaml").read_text()
    assert not (copy / ".git").exists()
    assert (copy / ".jars").resolve() == (place.REPO / ".jars").resolve()


def test_the_first_library_that_works_is_taken(tmp_path, monkeypatch):
    libraries = [tmp_path / folder / "libfaketimeMT.so.1" for folder in ("own", "debian")]
    for each in libraries:
        each.parent.mkdir()
        each.touch()
    monkeypatch.setattr(place, "FAKETIME", [str(each.parent) for each in libraries])
    assert place.faketime() is None  # an empty file sets no clock
    monkeypatch.setattr(place, "works", lambda found: found == libraries[1])
    assert place.faketime() == libraries[1]


@pytest.fixture
def differences(tmp_path) -> Iterator[Iterator[tuple[float, float]]]:
    """By how many seconds the time of day and the monotonic clock of a process differ from this one's, again and again."""
    if not (library := place.faketime()):
        pytest.skip("there is no libfaketime")
    script = "import time\nwhile True:\n print(time.time(), time.monotonic(), flush=True)\n time.sleep(0.1)"
    (tmp_path / "clock").write_text("+0s\n")
    env = os.environ | place.environment(library, tmp_path / "clock")
    process = subprocess.Popen([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE, text=True)

    def seen() -> Iterator[tuple[float, float]]:
        for line in process.stdout:
            of_day, monotonic = map(float, line.split())
            yield of_day - time.time(), monotonic - time.monotonic()

    yield seen()
    process.kill()
    process.wait()


@pytest.mark.parametrize("step", ["-45", "+45"])
def test_the_clock_of_a_running_process_is_set_and_set_again_and_its_pauses_stay(differences, tmp_path, step):
    until = time.monotonic() + 30
    for wanted in (step, "+0"):
        (tmp_path / "clock").write_text(f"{wanted}s\n")
        ahead = next(ahead for ahead, _ in differences if abs(ahead - float(wanted)) < 20 or time.monotonic() > until)
        assert abs(ahead - float(wanted)) < 20
        assert abs(next(differences)[1]) < 20
