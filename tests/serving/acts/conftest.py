"""Serving with an operator, and an Airflow that notes what it is asked for."""

import contextlib
import dataclasses
import datetime as dt
import json
from collections.abc import Iterator

import httpx
import pytest
from fastapi.testclient import TestClient

from contracts.users import Users
from serving.app import create_app
from tests.support.dag_params import mistakes

RUN = "manual__2026-11-25T12:00:00+00:00"
ASKED_AT = "2026-11-25T12:00:00Z"  # of a question that is old enough to be answered


class Airflow:
    """What came, and what it answers; the first login is outdated at once. A DAG with runs of its own begins paused, and a run of
    it would then wait for ever."""

    def __init__(self):
        self.came: list[tuple[str, str, dict | None]] = []
        self.state, self.status, self.logins, self.away = "queued", 200, 0, False
        self.active: list[dict] = []
        self.questions: list[dict] = []
        self.unpaused: set[str] = set()

    def answer(self, request: httpx.Request) -> httpx.Response:
        if self.away:
            raise httpx.ConnectError("refused")
        path, body = request.url.path, json.loads(request.content) if request.content else None
        if path == "/auth/token":
            assert body == {"username": "serving", "password": "secret"}
            self.logins += 1
            return httpx.Response(201, json={"access_token": f"token {self.logins}"})
        if request.headers["authorization"] != "Bearer token 2":
            return httpx.Response(401)
        dag = path.split("/")[4]
        if request.method == "PATCH" and not dag.startswith("supervise_") and body == {"is_paused": False}:
            self.unpaused.add(dag)
            return httpx.Response(self.status, json={})
        self.came.append((request.method, path, body))
        if request.method == "POST" and dag not in self.unpaused:
            return httpx.Response(400, json={"detail": f"{dag} is paused"})
        if request.method == "POST" and (wrong := mistakes(dag, body["conf"])):
            return httpx.Response(400, json={"detail": "; ".join(wrong)})
        found = {"dag_run_id": RUN, "state": self.state, "dag_runs": self.active, "hitl_details": self.questions}
        return httpx.Response(self.status, json=found)


@contextlib.contextmanager
def answering() -> Iterator[Airflow]:
    """An Airflow that answers whatever serving asks, at any address."""
    made, client = Airflow(), httpx.Client
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx, "Client", lambda **of: client(transport=httpx.MockTransport(made.answer), **of))
        yield made


@pytest.fixture
def airflow() -> Iterator[Airflow]:
    with answering() as made:
        yield made


@pytest.fixture
def operator(offline, tmp_path, airflow):
    """A client with an operator's token."""
    users, token = Users({}).added("olga", "operator", dt.datetime.now(dt.UTC), None)
    (tmp_path / "users.json").write_text(users.text())
    settings = dataclasses.replace(
        offline,
        users=tmp_path / "users.json",
        audit=tmp_path / "audit.jsonl",
        airflow="http://airflow:8080",
        airflow_user="serving",
        airflow_password="secret",
    )
    return TestClient(create_app(settings), base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {token}"})
