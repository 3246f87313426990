"""Kafka Connect's REST API, with which one may read any file of the machine, answers its user only."""

import json
import stat

import httpx
import pytest
from confluent_kafka.admin import NewTopic

from stack.deploy.cluster import admin
from stack.instance import HOST, Instance
from stack.parts import connect, process, status
from tests.support import topics
from tests.support.waiting import until


@pytest.fixture(scope="module")
def worker(broker, tmp_path_factory):
    """The stack whose worker copies a file of two lines to the topic `lines`."""
    folder = tmp_path_factory.mktemp("connect")
    (folder / "lines.txt").write_text("one\ntwo\n")
    settings = {"name": "lines", "connector.class": "FileStreamSource", "file": folder / "lines.txt", "topic": "lines"}
    (folder / "lines.properties").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    client = admin(broker.kafka)  # must outlive its futures
    client.create_topics([NewTopic("lines", 1, 1)])["lines"].result(timeout=30)
    try:
        connect.start(broker, [folder / "lines.properties"])
        yield broker
    finally:
        process.stop(broker, connect.NAME)


def answer(instance: Instance, method: str = "GET", path: str = "connectors", **more) -> httpx.Response:
    (port,) = [row.port for row in status.rows(instance) if row.name == connect.NAME]
    return httpx.request(method, f"http://{HOST}:{port}/{path}", timeout=30, **more)


@pytest.mark.full
def test_a_worker_runs_what_it_was_started_with(worker):
    until("two records", lambda: sum(topics.ends(worker.kafka, "lines").values()) == 2)
    assert [message.value() for message in topics.consume(worker.kafka, "lines")] == [b"one", b"two"]


def test_its_user_is_let_in(worker):
    found = answer(worker, auth=("connect", worker.secrets["connect"]))
    assert (found.status_code, found.json()) == (200, ["lines"])


@pytest.mark.parametrize("login", [None, ("connect", "connect"), ("admin", "admin"), ("connect", "")])
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "connectors"), ("GET", "connectors/lines/config"), ("DELETE", "connectors/lines")]
)
def test_nobody_else_is(worker, login, method, path):
    assert answer(worker, method, path, auth=login).status_code == 401
    assert answer(worker, auth=("connect", worker.secrets["connect"])).json() == ["lines"]


def test_a_page_whose_name_was_made_to_point_here_has_no_password(worker):
    """Connect does not look at the name by which it is called."""
    assert answer(worker, headers={"Host": "attacker.example", "Origin": "http://attacker.example"}).status_code == 401


def test_what_workers_ask_each_other_needs_no_password_and_this_worker_refuses_it(worker):
    body = [{"connector.class": "FileStreamSource", "task.class": "x", "file": "/etc/passwd", "topic": "lines"}]
    assert answer(worker, "POST", "connectors/lines/tasks", json=body).is_error
    assert answer(worker, "PUT", "connectors/lines/fence").is_error
    tasks = answer(worker, path="connectors/lines/tasks", auth=("connect", worker.secrets["connect"])).json()
    assert [task["config"]["file"].rpartition("/")[2] for task in tasks] == ["lines.txt"]


def test_the_password_is_in_files_that_only_the_owner_reads(worker):
    password, folder = worker.secrets["connect"], worker.path / "connect"
    having = {file.name: file for file in folder.iterdir() if password in file.read_text(errors="replace")}
    assert list(having) == ["users.properties"]
    assert {stat.S_IMODE((folder / name).stat().st_mode) for name in ("users.properties", "login.conf")} == {0o600}
    running = process.find(worker, connect.NAME)
    assert password not in " ".join(running.cmdline())
    assert password not in json.dumps(running.environ())
    assert password not in process.log_file(worker, connect.NAME).read_text()
