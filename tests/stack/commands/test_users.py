"""`sundial users`: the token is printed once and kept nowhere, and the file is its owner's alone."""

import datetime as dt
import json
import stat

import pytest
from typer.testing import CliRunner

from contracts.users import Users
from stack.commands.cli import app
from stack.instance import Instance

NOW = dt.datetime.now(dt.UTC)


@pytest.fixture
def users(tmp_path, monkeypatch):
    """users(*arguments): what the command prints, of a stack that runs nothing."""
    monkeypatch.delenv("SUNDIAL_USERS", raising=False)
    monkeypatch.delenv("SUNDIAL_AUDIT_LOG", raising=False)
    Instance(tmp_path / "home").make(0)

    def run(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, ["--home", str(tmp_path / "home"), "users", *arguments])
        assert done.exit_code == code, done.output
        return done.output

    return run


def test_a_user_is_added_listed_and_removed(users, tmp_path):
    file = tmp_path / "home" / "users.json"
    assert "Nobody may log in" in users("list")
    token = users("add", "olga", "--role", "operator").splitlines()[-1]
    before = dt.datetime.now(dt.UTC).replace(microsecond=0)
    users("add", "notebook", "--days", "90")
    found = Users.read(file)
    assert found.of_token(token, NOW).name == "olga"
    assert found.by_name["notebook"].role == "viewer"
    assert before <= found.by_name["notebook"].until - dt.timedelta(days=90) <= dt.datetime.now(dt.UTC)
    assert token not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    listed = users("list")
    assert "olga" in listed
    assert token not in listed
    users("remove", "olga")
    assert Users.read(file).of_token(token, NOW) is None
    assert sorted(each.name for each in file.parent.glob("*users*")) == ["users.json"]
    log = (tmp_path / "home" / "logs" / "audit.jsonl").read_text()
    lines = list(map(json.loads, log.splitlines()))
    assert [(line["act"], line["name"]) for line in lines] == [
        ("users add", "olga"),
        ("users add", "notebook"),
        ("users remove", "olga"),
    ]
    assert (lines[0]["given"], lines[0]["user"].endswith(" of the machine"), token in log) == ("operator", True, False)


def test_an_audit_log_that_can_not_be_written_changes_nothing(users, tmp_path, monkeypatch):
    monkeypatch.setenv("SUNDIAL_AUDIT_LOG", str(tmp_path))
    assert "the audit log can't be written" in users("add", "olga", code=1)
    assert not (tmp_path / "home" / "users.json").exists()


def test_mistakes_are_named(users, tmp_path):
    users("add", "olga")
    assert "there is a user 'olga' already" in users("add", "olga", code=1)
    assert "there is no user 'bob'; there are: olga" in users("remove", "bob", code=1)
    assert "is no user's name" in users("add", "a/b", code=1)
    (tmp_path / "home" / "users.json").write_text("x")
    assert "users.json is damaged" in users("list", code=1)


def test_the_file_of_the_variable_goes_first(users, tmp_path, monkeypatch):
    monkeypatch.setenv("SUNDIAL_USERS", str(tmp_path / "other.json"))
    users("add", "olga")
    assert list(Users.read(tmp_path / "other.json").by_name) == ["olga"]
    assert not (tmp_path / "home" / "users.json").exists()
