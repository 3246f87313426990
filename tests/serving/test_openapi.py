"""The API by its own description: whatever is asked, the answer is one that /openapi.json declares, and never 'our fault'."""

import datetime as dt

import httpx2
import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import given, reject
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from contracts.feeds import Feed, Rule
from contracts.users import Users
from serving.app import ROUTES, create_app
from serving.dead_letters import DeadLetter
from serving.memory import Anomaly, Reading
from serving.rows import FORMATS
from serving.settings import Settings
from tests.serving import world
from tests.serving.acts.conftest import answering
from tests.serving.conftest import declare
from tests.support import hostile

FEED = Feed(
    name="described", description="d", record="service_use_record", timezone="America/New_York", rule=Rule(percent=5, minimum=20)
)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
NAMES = ["a", *hostile.TEXTS.values()]


@pytest.fixture(scope="module")
def airflow():
    with answering() as made:
        yield made


@pytest.fixture(scope="module")
def described(tmp_path_factory, airflow):
    """Serving over a lake with a baseline, history and gate results, with readings in memory, and with an operator; nothing
    follows Kafka."""
    folder = tmp_path_factory.mktemp("described")
    lake, now = folder / "lake", dt.datetime.now(dt.UTC)
    world.promote(lake, FEED, dict.fromkeys(NAMES, 10.0), days=[1])
    world.promote(lake, FEED, {"a": 10.0}, gate=None, by=None, reason=None, candidate_version=None)
    world.archive(lake, FEED, {("a", now): 5})
    found = [world.expectation(), world.expectation(success=False)]
    world.gate_result(lake, FEED, "run-1", True, found, now, world.build(lake, FEED, scales={"a": 20.0}), compared_with=0)
    for number, name in enumerate(NAMES, start=1):
        world.say(lake, FEED, number, "exclude", now, ServiceName=name, Reason=name)
    world.data_docs(lake, FEED, "run-1")
    users, token = Users({}).added("olga", "operator", now, None)
    (folder / "users.json").write_text(users.text())
    settings = Settings(
        "127.0.0.1:1",
        "http://127.0.0.1:1",
        str(lake),
        str(folder / "streams"),
        feeds=declare(folder / "feeds", FEED),
        users=folder / "users.json",
        audit=folder / "audit.jsonl",
        airflow="http://airflow:8080",
        airflow_user="serving",
        airflow_password="secret",
    )
    app = create_app(settings)
    for name in NAMES:
        at = round(now.timestamp() * 1000)
        app.state.sundial.memory.put_reading(FEED.name, name, Reading(at, 90, 45.0, None, 200.0, True, 3))
        app.state.sundial.memory.put_anomaly(FEED.name, Anomaly(name, at, 90, 45.0, None, 200.0, 3))
    letters = [DeadLetter(now, reason, 0, 7, reason, 3, b"\xff\x00x") for reason in NAMES]
    app.state.sundial.dead_letters.newest = lambda topic: letters  # there is no broker
    schema = schemathesis.openapi.from_dict(app.openapi())

    @schema.hook
    def map_path_parameters(context, path_parameters):
        """Most requests ask for what is there: a name made up is refused before anything else is looked at."""
        known = {"feed": [FEED.name], "service": NAMES, "run_id": ["run-1"]}
        for name in known.keys() & (path_parameters or {}).keys():
            drawn = sum(map(ord, str(path_parameters[name])))
            if drawn % 4:
                path_parameters[name] = known[name][drawn % len(known[name])]
        return path_parameters

    return (
        schema,
        TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False),
        {"Authorization": f"Bearer {token}"},
    )


OPERATIONS = [
    (route.path, method)
    for part in ROUTES
    for route in part.router.routes
    if route.include_in_schema
    for method in sorted(route.methods)
]
ENDLESS = "/api/events"
ACCEPTED = [*FORMATS, "*/*", "text/html"]


def test_every_path_is_described(described):
    schema, _, _ = described
    found = {(operation.ok().path, operation.ok().method.upper()) for operation in schema.get_all_operations()}
    assert found == {(plain(path), method) for path, method in OPERATIONS}


def plain(path: str) -> str:
    """As the description names it."""
    return path.replace(":path}", "}")


@pytest.mark.parametrize(("path", "method"), [each for each in OPERATIONS if each[0] != ENDLESS])
@given(data=st.data())
def test_every_answer_is_as_described(described, path, method, data):
    schema, client, login = described
    operation = schema[plain(path)][method]
    varies = list(operation.iter_parameters()) or operation.body
    modes = list(GenerationMode) if varies else [GenerationMode.POSITIVE]
    case = data.draw(operation.as_strategy(generation_mode=data.draw(st.sampled_from(modes))))
    request = case.as_transport_kwargs(base_url="http://127.0.0.1") | {"cookies": None, "follow_redirects": False}
    caller = data.draw(st.sampled_from([login, {}]), label="caller")
    request["headers"] = {**request["headers"], **caller, "Accept": data.draw(st.sampled_from(ACCEPTED))}
    try:
        answer = client.request(**request)
    except httpx2.InvalidURL:  # longer than the client sends
        reject()
    case.validate_response(answer, checks=CHECKS)
