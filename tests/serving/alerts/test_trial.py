"""`sundial alerts test`: what the receivers of a route get, what the command says of it, and the mistakes that it names."""

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from stack.commands import alerts as command
from stack.commands.cli import app
from stack.instance import ROOT
from tests.serving.alerts.conftest import KEY, SECRET, URL, WEBHOOK

CHAT = "SUNDIAL_ALERT_TEST_CHAT"
COPIED, LINKED = ("contracts", "schemas"), ("jobs", "serving", "supervision")


@pytest.fixture
def routes(tmp_path, monkeypatch) -> Path:
    """The folder of the routes of a repository, which the command runs in."""
    repository = tmp_path / "repository"
    repository.mkdir()
    for room in COPIED:
        shutil.copytree(ROOT / room, repository / room, ignore=shutil.ignore_patterns("__pycache__"))
    for room in LINKED:
        (repository / room).symlink_to(ROOT / room)
    for name in [name for name in os.environ if name.startswith("SUNDIAL_") and not name.startswith("SUNDIAL_TEST_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SUNDIAL_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("PYTHONPATH", str(repository))
    monkeypatch.setattr(command, "ROOT", repository)
    return repository / "schemas" / "alerts"


@pytest.fixture
def tried(routes, receiver, monkeypatch) -> Callable[..., tuple[int, list[str], str]]:
    """tried(asked, **fields): exit code, lines and errors of a try of the route with these fields."""

    def run(asked: str = "on-call", env: dict[str, str] | None = None, **fields) -> tuple[int, list[str], str]:
        routes.mkdir(exist_ok=True)
        route = {"name": "on-call", "description": "of the test", "target": WEBHOOK} | fields
        (routes / "on-call.yaml").write_text(yaml.safe_dump(route))
        for variable, value in ({URL: receiver.url, KEY: SECRET, CHAT: f"{receiver.url}-chat"} | (env or {})).items():
            monkeypatch.setenv(variable, value)
        done = CliRunner().invoke(app, ["alerts", "test", asked])
        assert SECRET not in done.output
        assert "s3cret-token" not in done.output
        return done.exit_code, done.stdout.splitlines(), " ".join(done.stderr.split())

    return run


def test_each_target_gets_an_opening_and_a_closing_of_no_real_incident(tried, receiver):
    chat = {"kind": "slack", "url": CHAT, "network": "loopback"}
    code, lines, errors = tried(escalation={"after": "5 minutes", "target": chat})
    assert (code, errors) == (0, "")
    assert lines == [
        "target (webhook), opened: taken: HTTP 200 ok",
        "target (webhook), closed: taken: HTTP 200 ok",
        "escalation (slack), opened: taken: HTTP 200 ok",
        "escalation (slack), closed: taken: HTTP 200 ok",
    ]
    opened, closed, *chats = receiver.came
    assert [(each.json["event"], each.json["route"], each.json["test"]) for each in (opened, closed)] == [
        ("opened", "on-call", True),
        ("closed", "on-call", True),
    ]
    assert opened.json["incident"]["Id"] == closed.json["incident"]["Id"]
    assert (opened.json["incident"]["State"], closed.json["incident"]["State"]) == ("opened", "closed")
    assert opened.json["text"].startswith("Test: [warning] test: test, unusual\nsomebody tries out this route\n")
    assert opened.id != closed.id
    assert all(each.headers["webhook-signature"] == each.signature(SECRET) for each in (opened, closed))
    assert [each.path for each in chats] == ["/hook/s3cret-token-chat"] * 2
    assert [each.json["text"].split("\n")[0] for each in chats] == [
        "Test: [warning] test: test, unusual",
        "Test: closed: [warning] test: test, unusual",
    ]


def test_what_is_not_taken_is_said_and_ends_with_1(tried, receiver):
    receiver.answers = [(404, {}, b"no such hook /hook/s3cret-token"), (503, {}, b"busy")]
    code, lines, errors = tried()
    assert code == 1
    assert lines == [
        "target (webhook), opened: refused: HTTP 404 no such hook …",
        "target (webhook), closed: not taken, worth another try: HTTP 503 busy",
    ]
    assert "route on-call did not get through" in errors
    assert receiver.came == []


def test_one_message_that_is_not_taken_is_enough_to_end_with_1(tried, receiver):
    receiver.answers = [(500, {}, b"once")]
    code, lines, _ = tried()
    assert (code, lines[1]) == (1, "target (webhook), closed: taken: HTTP 200 ok")


def test_a_receiver_that_is_not_there_is_named_by_its_target(tried):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        unanswered = f"http://127.0.0.1:{free.getsockname()[1]}/hook/s3cret-token"
    code, lines, _ = tried(env={URL: unanswered})
    assert (code, lines[0]) == (1, "target (webhook), opened: not taken, worth another try: not sent: ConnectError")


@pytest.mark.parametrize(
    ("of", "what"),
    [
        ({"env": {KEY: ""}}, f"on-call: target: the environment variable {KEY} is not set"),
        ({"env": {URL: "", KEY: ""}}, f"on-call: target: the environment variables {URL} and {KEY} are not set"),
        ({"env": {URL: "ftp://s3cret-token"}}, f"on-call: target: {URL} is no address that begins with https:// or http://"),
        ({"target": WEBHOOK | {"network": "public"}}, f"on-call: target: {URL} begins with http://"),
        ({"env": {KEY: "short s3cret-token"}}, f"on-call: target: {KEY} is "),
        ({"severity": "loud"}, "on-call.yaml: severity: "),
        ({"target": WEBHOOK | {"kind": "pigeon"}}, "on-call.yaml: target.kind: "),
        ({"target": {"kind": "slack"}}, "on-call.yaml: target: a target of kind slack needs url"),
        ({"name": "elsewhere"}, "on-call.yaml: name: is 'elsewhere', must be the file's name 'on-call'"),
    ],
)
def test_a_mistake_is_named_with_its_file_or_its_route_and_its_field(tried, receiver, of, what):
    code, lines, errors = tried(**of)
    assert (code, lines, receiver.came) == (1, [], [])
    assert what in errors


def test_a_route_that_is_not_declared_is_answered_with_those_that_are(tried, routes):
    code, _, errors = tried("on-cal")
    assert (code, "no route 'on-cal': one of on-call" in errors) == (1, True)
    (routes / "on-call.yaml").unlink()
    done = CliRunner().invoke(app, ["alerts", "test", "on-call"])
    assert done.exit_code == 1
    assert "none is declared in schemas/alerts" in " ".join(done.stderr.split())
