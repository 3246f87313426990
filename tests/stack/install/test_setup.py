"""A machine that Sundial cannot use is refused with the reason; what is there is not fetched again."""

import threading
from collections import namedtuple

import pytest

from stack.errors import StackError
from stack.install import setup
from tests.support import waiting


def test_another_python_is_refused(monkeypatch):
    monkeypatch.setattr(setup.sys, "version_info", (3, 13, 1, "final", 0))
    with pytest.raises(StackError, match=r"this is Python 3\.13\.1; Sundial needs 3\.11"):
        setup.check_machine()


def test_a_full_disk_is_told_before_anything_is_fetched(monkeypatch):
    Usage = namedtuple("Usage", "total used free")
    monkeypatch.setattr(setup.shutil, "disk_usage", lambda _: Usage(10, 9, 1_500_000_000))
    with pytest.raises(StackError, match=r"has 1\.5 GB free; 4 GB are needed"):
        setup.check_machine()


def test_nothing_is_done_where_the_stamps_match(monkeypatch, capsys):
    for name in ("check_machine", "install_packages", "fetch_jars"):
        monkeypatch.setattr(setup, name, lambda *_, name=name: pytest.fail(f"{name} was called"))
    monkeypatch.setattr(setup, "fresh", lambda folder, names: True)
    setup.setup(relock=False, archive=True)
    assert capsys.readouterr().out == ""


def test_the_archive_of_classes_is_made_later_where_a_run_must_not_wait_for_it(monkeypatch):
    made = []
    monkeypatch.setattr(setup, "fresh", lambda folder, names: folder != setup.ARCHIVED)
    monkeypatch.setattr(setup, "check_machine", lambda: None)
    monkeypatch.setattr(setup, "archive_classes", lambda: made.append("archive"))
    setup.setup(relock=False, archive=False)
    assert not made
    setup.setup(relock=False, archive=True)
    assert made == ["archive"]


def test_a_second_setup_waits_for_the_first_and_does_nothing_again(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    monkeypatch.setattr(setup, "check_machine", lambda: None)
    made, begun, go_on = [], threading.Event(), threading.Event()
    monkeypatch.setattr(setup, "fresh", lambda folder, names: folder != setup.VENV or bool(made))

    def install():
        begun.set()
        go_on.wait(10)
        made.append("packages")

    monkeypatch.setattr(setup, "install_packages", install)
    first, second = (threading.Thread(target=setup.setup, args=(False, False)) for _ in range(2))
    first.start()
    begun.wait(10)
    second.start()
    waiting.until("the second setup waits", lambda: "waits for another setup" in capsys.readouterr().out)
    go_on.set()
    first.join(10)
    second.join(10)
    assert made == ["packages"]


def test_a_stamp_holds_until_an_input_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    (tmp_path / "input").write_text("one")
    assert not setup.fresh(tmp_path, ("input",))
    (tmp_path / ".made-from").write_text(setup.fingerprint(("input",)))
    assert setup.fresh(tmp_path, ("input",))
    (tmp_path / "input").write_text("two")
    assert not setup.fresh(tmp_path, ("input",))
