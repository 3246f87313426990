"""What a machine cannot have is left out, and said."""

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
