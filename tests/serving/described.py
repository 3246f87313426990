"""Serving and its own description: one with something of all that can be asked for, and one behind which nothing answers."""

import contextlib
import datetime as dt
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import schemathesis
import yaml
from fastapi.testclient import TestClient
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from contracts.feeds import Feed, Rule
from contracts.users import Users
from serving import dead_letters
from serving import state as state_module
from serving.app import ROUTES, create_app
from serving.dead_letters import DeadLetter
from serving.memory import Anomaly, Reading
from serving.query_tables import query_tables, topic_table
from serving.query_tables.kept_rows import KeptRows, Record
from serving.settings import Settings
from serving.state import State
from supervision.files import StreamFolder, locked
from tests.serving import world
from tests.serving.acts.conftest import ASKED_AT, RUN, answering
from tests.serving.conftest import declare
from tests.serving.test_incidents import of
from tests.support import hostile

FEED = Feed(
    name="described", description="d", record="service_use_record", timezone="America/New_York", rule=Rule(percent=5, minimum=20)
)
NAMES = ["a", *hostile.TEXTS.values()]
QUERY, APPLICATION = "described-places", "described-queries"
PLAIN, ENCODED = f"{QUERY}.json", f"{QUERY}.avro"  # the tables of the query
ENDLESS = "/api/events"
OPERATIONS = [
    (route.path, method)
    for part in ROUTES
    for route in part.router.routes
    if route.include_in_schema and route.path != ENDLESS
    for method in sorted(route.methods)
]
CHECKS = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
KNOWN: dict[str, list[Any]] = {
    "feed": [FEED.name],
    "service": NAMES,
    "run_id": ["run-1"],
    "file": ["index.html", "static/styles/data_docs_default_styles.css"],
    "query": [QUERY],
    "topic": [PLAIN, ENCODED],
    "key": NAMES,
    "application": [APPLICATION],
    "dag": [f"judge_incident.{FEED.name}"],
    "run": [RUN],
}


class Described(NamedTuple):
    schema: Any
    client: TestClient
    state: State
    login: dict[str, str]

    def operation(self, path: str, method: str):
        return self.schema[plain(path)][method]

    def ask(self, case, caller: dict[str, str], accept: str = "*/*"):
        """The answer, which is one that the description declares, and never 'our fault'."""
        request = case.as_transport_kwargs(base_url="http://127.0.0.1") | {"cookies": None, "follow_redirects": False}
        request["headers"] = {**request["headers"], **caller, "Accept": accept}
        answer = self.client.request(**request)
        case.validate_response(answer, checks=CHECKS)
        assert answer.status_code != 500, answer.text
        return answer

    def known(self, asked: str, body: dict[str, Any] | None = None):
        """What a path and its query answer, of what there is; with a body, to a POST."""
        path, _, query = asked.partition("?")
        case = self.operation(path, "GET" if body is None else "POST").Case(
            path_parameters={name: known[0] for name, known in KNOWN.items() if f"{{{name}}}" in path},
            query=dict(each.split("=") for each in query.split("&") if each),
            **({} if body is None else {"body": body, "media_type": "application/json"}),
        )
        return self.ask(case, self.login)


def plain(path: str) -> str:
    """As the description names it."""
    return path.replace(":path}", "}")


def known(parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """With names that there are in most places: a name made up is refused before anything else is looked at."""
    for name in KNOWN.keys() & (parameters or {}).keys():
        drawn = sum(map(ord, str(parameters[name])))
        if drawn % 4:
            parameters[name] = KNOWN[name][drawn % len(KNOWN[name])]
    return parameters


def _described(settings: Settings, folder: Path) -> Described:
    users, token = Users({}).added("olga", "operator", dt.datetime.now(dt.UTC), None)
    (folder / "users.json").write_text(users.text())
    app = create_app(replace(settings, users=folder / "users.json", audit=folder / "audit.jsonl"))
    at = round(dt.datetime.now(dt.UTC).timestamp() * 1000)
    for name in NAMES:
        app.state.sundial.memory.put_reading(FEED.name, name, Reading(at, 90, 45.0, None, 200.0, True, 3))
        app.state.sundial.memory.put_anomaly(FEED.name, Anomaly(name, at, 90, 45.0, None, 200.0, 3))
        app.state.sundial.incidents.put(FEED.name, replace(of(name, at), cause=name))
    group = replace(of("*", at), kind="group", services=3, cause="a is the first", peak=None)
    app.state.sundial.incidents.put(FEED.name, group)
    schema = schemathesis.openapi.from_dict(app.openapi())

    @schema.hook
    def map_path_parameters(context, path_parameters):
        return known(path_parameters)

    @schema.hook
    def map_query(context, query):
        return known(query)

    client = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)
    return Described(schema, client, app.state.sundial, {"Authorization": f"Bearer {token}"})


def _settings(folder: Path, **more: Any) -> Settings:
    """With a feed and a query. Neither its broker nor its registry answers."""
    feeds = declare(folder / "feeds", FEED)
    outputs = [
        {"topic": PLAIN, "record": "check_in", "key": "User", "encoding": "json"},
        {"topic": ENCODED, "record": "check_in", "key": "User"},
        {"topic": f"{QUERY}.all", "record": "check_in", "key": "User", "compacted": False},
    ]
    inputs = {"check_ins": {"topic": "check-ins", "record": "check_in", "encoding": "json"}}
    query = {"name": QUERY, "description": "Places", "application": APPLICATION, "inputs": inputs, "outputs": outputs}
    (folder / "queries").mkdir()
    (folder / "queries" / f"{QUERY}.yaml").write_text(yaml.safe_dump(query | {"sql": "SELECT * FROM check_ins"}))
    airflow = {"airflow": "http://127.0.0.1:1", "airflow_user": "serving", "airflow_password": "secret"}
    nowhere = "127.0.0.1:1", "http://127.0.0.1:1"
    return Settings(*nowhere, str(folder / "lake"), str(folder / "streams"), feeds=feeds, **airflow, **more)


def _lake(lake: Path) -> None:
    """Two baselines and a candidate, a reading of history, a refused gate result with its report, and what people said."""
    now = dt.datetime.now(dt.UTC)
    world.promote(lake, FEED, dict.fromkeys(NAMES, 10.0), days=[1])
    world.promote(lake, FEED, {"a": 10.0}, gate=None, by=None, reason=None, candidate_version=None)
    world.archive(lake, FEED, {("a", now): 5})
    found = [world.expectation(), world.expectation(success=False)]
    world.gate_result(lake, FEED, "run-1", True, found, now, world.build(lake, FEED, scales={"a": 20.0}), compared_with=0)
    for number, name in enumerate(NAMES, start=1):
        world.say(lake, FEED, number, "exclude", now, ServiceName=name, Reason=name)
    world.data_docs(lake, FEED, "run-1")


@contextlib.contextmanager
def something(folder: Path) -> Iterator[Described]:
    """A lake, a running stream, an Airflow that takes what is asked for, dead letters, and tables of a query. Nothing follows
    Kafka."""
    _lake(folder / "lake")
    asks = {"dag_id": f"nightly_baseline.{FEED.name}", "task_id": "approve", "map_index": -1}
    with contextlib.ExitStack() as ends:
        ends.enter_context(answering()).questions = [{"task_instance": asks, "created_at": ASKED_AT}]
        ends.enter_context(pytest.MonkeyPatch.context()).setattr(state_module, "ACTS", (10**6, 60.0))
        made = _described(_settings(folder), folder)
        _run(StreamFolder.of(folder / "streams", FEED.name, "score"), ends)
        letters = [DeadLetter(dt.datetime.now(dt.UTC), reason, 0, 7, reason, 3, b"\xff\x00x") for reason in NAMES]
        made.state.dead_letters.newest = lambda topic: letters  # there is no broker
        tables = {PLAIN: _table(json.dumps({"User": "u", "Place": NAMES}).encode()), ENCODED: _table(b"\0\0\0\0\1x")}
        made.state.query_tables.ask = lambda topic, question: (question(tables[topic]), {0: 7})
        yield made


def _run(stream: StreamFolder, ends: contextlib.ExitStack) -> None:
    """As the driver of a stream that lives."""
    now = dt.datetime.now(dt.UTC).isoformat()
    stream.make()
    ends.enter_context(locked(stream.driver_lock))
    driver = {"pid": os.getpid(), "started_at": now, "feed": FEED.name, "stream": "score", "spark_application": "local-1"}
    stream.write_driver(driver)
    beat = {"at": now, "state": "running", "query_started_at": now, "baseline_version": 1, "generation": 7, "last_error": None}
    stream.write_heartbeat(beat)


def _table(value: bytes) -> KeptRows:
    """A row with that value, and some that cannot be read, by hostile keys."""
    rows = KeptRows()
    for number, name in enumerate(NAMES):
        rows.put(name.encode(), Record(b"{" if number % 2 else value, 0, number, 1_780_000_000_000))
    rows.put(b"\xff\xfe", Record(value, 1, 0, 1_780_000_000_000))
    rows.settle()
    return rows


@contextlib.contextmanager
def nothing(folder: Path) -> Iterator[Described]:
    """Neither Kafka nor the registry nor Airflow answers, and no table of the lake can be read."""
    _lake(folder / "lake")
    for log in (folder / "lake").rglob("_delta_log/*.json"):
        log.write_text("no log of a table")
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((dead_letters, "PATIENCE"), (topic_table, "ANSWER_SECONDS"), (query_tables, "PATIENCE")):
            patch.setattr(module, name, 0.2)
        made = _described(_settings(folder), folder)
        yield made
        made.state.query_tables.stop()
