"""An operator switches an application of queries; all else is refused."""

import datetime as dt
import json

import pytest

from contracts.users import Users
from tests.serving.acts.conftest import RUN
from tests.serving.conftest import declare_query, problem


def test_an_application_of_queries_is_switched_on_and_off(operator, airflow, declared, tmp_path):
    declare_query(declared, "places", "trips")
    dag = "supervise_queries.trips"
    assert operator.post("/api/applications/trips/stream", json={"on": True}).status_code == 204
    assert airflow.came == [("PATCH", f"/api/v2/dags/{dag}", {"is_paused": False})]
    airflow.came, airflow.active = [], [{"dag_run_id": RUN}]
    assert operator.post("/api/applications/trips/stream", json={"on": False}).status_code == 204
    paused, _, ended = airflow.came
    assert paused == ("PATCH", f"/api/v2/dags/{dag}", {"is_paused": True})
    assert ended == ("PATCH", f"/api/v2/dags/{dag}/dagRuns/{RUN}", {"state": "success"})
    lines = list(map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines()))
    assert {(line["user"], line["act"]) for line in lines} == {("olga", dag)}
    assert [(line.get("on"), line.get("outcome")) for line in lines] == [
        (True, None),
        (None, "accepted"),
        (False, None),
        (None, "accepted"),
    ]


@pytest.mark.parametrize("name", ["nobody", "places", "%2e%2e", "trips%0d%0a", "x" * 2000])
def test_an_application_that_no_query_names_is_refused(operator, airflow, declared, name):
    declare_query(declared, "places", "trips")
    body = problem(operator.post(f"/api/applications/{name}/stream", json={"on": True}), 404, "unknown-application")
    assert "trips" in body["remedy"]
    assert airflow.came == []


def test_only_an_operator_switches_an_application(operator, airflow, declared, tmp_path):
    declare_query(declared, "places", "trips")
    known = Users.read(tmp_path / "users.json")
    users, viewer = known.added("victor", "viewer", dt.datetime.now(dt.UTC), None)
    (tmp_path / "users.json").write_text(users.text())
    path, body = "/api/applications/trips/stream", {"on": True}
    problem(operator.post(path, json=body, headers={"Authorization": ""}), 401, "login-needed")
    problem(operator.post(path, json=body, headers={"Authorization": f"Bearer {viewer}"}), 403, "not-allowed")
    for wrong in ({}, {"on": "perhaps"}, body | {"more": 1}):
        problem(operator.post(path, json=wrong), 422, "invalid-parameter")
    assert airflow.came == []
