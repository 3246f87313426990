"""A broker with empty topics of alerts, a receiver, and a route to it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from confluent_kafka.admin import AdminClient
from typer.testing import CliRunner

from contracts.alerts import ALERTS, DEAD
from stack.commands.cli import app
from stack.deploy import topics as deployed
from tests.serving.alerts.member import Member
from tests.serving.alerts.receiver import Receiver, receiving
from tests.support.waiting import until

URL, KEY, SECOND = "SUNDIAL_ALERT_TEST_URL", "SUNDIAL_ALERT_TEST_KEY", "SUNDIAL_ALERT_TEST_SECOND"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # of the standard's own example
WEBHOOK = {"kind": "webhook", "url": URL, "key": KEY, "network": "loopback"}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def env(receiver) -> dict[str, str]:
    return {URL: receiver.url, KEY: SECRET, SECOND: f"{receiver.url}/second"}


@pytest.fixture
def alerts_topics(broker) -> None:
    """Empty."""
    admin, names = AdminClient({"bootstrap.servers": broker.kafka}), {ALERTS.name, DEAD.name}

    def left() -> set[str]:
        return names & admin.list_topics(timeout=10).topics.keys()

    if left():
        admin.delete_topics(list(left()))
    until("the topics are gone", lambda: not left())
    deployed.deploy(broker.kafka, [ALERTS, DEAD])


@pytest.fixture
def alerts(broker, tmp_path, monkeypatch) -> Callable[..., str]:
    """alerts(*arguments): what `sundial alerts` prints, which ends with `code`."""
    monkeypatch.setenv("SUNDIAL_KAFKA", broker.kafka)
    monkeypatch.setenv("SUNDIAL_REGISTRY", broker.registry)
    monkeypatch.setenv("SUNDIAL_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("SUNDIAL_AUDIT_LOG", str(tmp_path / "audit.jsonl"))

    def run(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, ["alerts", *arguments])
        assert done.exit_code == code, done.output
        return " ".join(done.output.split())

    return run


@pytest.fixture
def declare_route(tmp_path) -> Callable[..., Path]:
    """declare_route(**fields): the folder of the routes, with this one."""

    def declare(**fields) -> Path:
        folder = tmp_path / "alerts"
        folder.mkdir(exist_ok=True)
        route = {"name": "on-call", "description": "of the test", "target": WEBHOOK} | fields
        (folder / f"{route['name']}.yaml").write_text(yaml.safe_dump(route))
        return folder

    return declare


@pytest.fixture
def start(broker, declared, alerts_topics, topics, env) -> Iterator[Callable[..., Member]]:
    """start(routes, **limits): a process of alerts over the feed's topics."""
    started: list[Member] = []

    def begin(routes: Path, **limits: float) -> Member:
        started.append(Member(broker, declared, routes, env, **limits))
        return started[-1]

    yield begin
    for each in started:
        each.kill()
