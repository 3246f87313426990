"""What an operator asks for becomes a run of a DAG, or an answer to one, with the operator's name; all else is refused."""

import datetime as dt
import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from serving.access.provider_login import ProviderUser
from tests.serving.acts.conftest import ASKED_AT, RUN
from tests.serving.conftest import problem

APPROVAL = {"task_id": "approve", "map_index": -1}
FALSE = {"verdict": "false", "incident": "a@2026-11-25T10:00:00Z", "reason": "load test"}


def audited(folder: Path) -> list[dict]:
    """The lines of the audit log."""
    return list(map(json.loads, (folder / "audit.jsonl").read_text().splitlines()))


@pytest.mark.parametrize(
    ("said", "conf"),
    [
        (FALSE, FALSE),
        ({"verdict": "exclude", "incident": "*@2026-11-25T10:00:00Z", "reason": "é"}, None),
        (
            {"verdict": "exclude", "from": "2026-11-25T10:00:00+01:00", "to": "2026-11-25T12:00:00Z", "reason": "r"},
            {"verdict": "exclude", "from": "2026-11-25T09:00:00Z", "to": "2026-11-25T12:00:00Z", "reason": "r"},
        ),
        (
            {"verdict": "exclude", "service": "a", "from": "2026-11-25T10:00:00Z", "to": "2026-11-25T12:00:00Z", "reason": "r"},
            None,
        ),
        ({"verdict": "take_back", "statement": 3, "reason": "r"}, None),
        ({"verdict": "note", "incident": "a@2026-11-25T10:00:00Z", "reason": "<b>deploy</b> https://x.example/4.2"}, None),
        ({"verdict": "note", "incident": "a@2026-11-25T10:00:00Z", "reason": "n" * 500}, None),
    ],
)
def test_a_statement_is_a_run_of_its_dag(operator, airflow, feed, tmp_path, said, conf):
    conf = conf or said
    answer = operator.post(f"/api/feeds/{feed.name}/statements", json=said)
    dag = f"judge_incident.{feed.name}"
    assert answer.status_code == 202
    url = f"http://airflow:8080/dags/{dag}/runs/manual__2026-11-25T12%3A00%3A00%2B00%3A00"
    assert answer.json() == {"dag": dag, "run": RUN, "state": "queued", "url": url}
    [(method, path, asked)] = airflow.came
    assert (method, path) == ("POST", f"/api/v2/dags/{dag}/dagRuns")
    assert asked == {"logical_date": None, "conf": conf | {"user": "olga"}, "note": "olga, by the API"}
    line, outcome = audited(tmp_path)
    assert (line["user"], line["act"], line["conf"]) == ("olga", dag, conf)
    assert (outcome["id"], outcome["user"], outcome["act"]) == (line["id"], "olga", dag)
    assert (outcome["outcome"], outcome["run"], outcome["state"]) == ("accepted", RUN, "queued")
    airflow.state = "success"
    assert operator.get(answer.headers["location"]).json()["state"] == "success"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("statements", FALSE),
        ("baseline/rollback", {"version": 7, "reason": "r"}),
        ("dead-letters/replay", {}),
    ],
)
@pytest.mark.parametrize("name", ["oidc/olga", "oidc/auth0|o+l@ga.example", "oidc/" + "x" * 100])
def test_airflow_takes_the_name_of_a_person_of_the_identity_provider(operator, airflow, feed, path, body, name, monkeypatch):
    monkeypatch.setattr(operator.app.state.sundial.users, "of_token", lambda token: ProviderUser(name=name, role="operator"))
    assert operator.post(f"/api/feeds/{feed.name}/{path}", json=body).status_code == 202
    assert airflow.came[0][2]["conf"]["user"] == name


@pytest.mark.parametrize(
    "said",
    [
        {"verdict": "false", "reason": "r"},
        {"verdict": "false", "incident": "a", "statement": 1, "reason": "r"},
        {"verdict": "exclude", "reason": "r"},
        {"verdict": "exclude", "from": "2026-11-25T10:00:00Z", "reason": "r"},
        {"verdict": "exclude", "service": "a", "reason": "r"},
        {"verdict": "exclude", "incident": "a", "from": "2026-11-25T10:00:00Z", "to": "2026-11-25T12:00:00Z", "reason": "r"},
        {"verdict": "exclude", "from": "2026-11-25T10:00:00Z", "to": "2026-11-25T10:00:00Z", "reason": "r"},
        {"verdict": "exclude", "from": "2026-11-25T10:00:00", "to": "2026-11-25T12:00:00", "reason": "r"},
        {"verdict": "take_back", "incident": "a", "reason": "r"},
        {"verdict": "take_back", "statement": 0, "reason": "r"},
        {"verdict": "note", "reason": "r"},
        {"verdict": "note", "incident": "a", "service": "a", "reason": "r"},
        {"verdict": "true", "incident": "a", "reason": "r"},
        FALSE | {"reason": ""},
        FALSE | {"reason": " "},
        FALSE | {"reason": "two\nlines"},
        FALSE | {"reason": "r" * 501},
        FALSE | {"more": 1},
    ],
)
def test_what_makes_no_sense_is_refused_before_airflow_is_asked(operator, airflow, feed, said):
    problem(operator.post(f"/api/feeds/{feed.name}/statements", json=said), 422, "invalid-parameter")
    assert airflow.came == []


def test_a_note_that_is_too_long_is_refused_with_the_limit(operator, airflow, feed):
    note = {"verdict": "note", "incident": "a", "reason": "n" * 501}
    body = problem(operator.post(f"/api/feeds/{feed.name}/statements", json=note), 422, "invalid-parameter")
    assert "reason: String should have at most 500 characters" in body["detail"]
    assert airflow.came == []


def test_without_an_operators_login_nothing_is_asked(operator, airflow, feed, tmp_path):
    path = f"/api/feeds/{feed.name}/statements"
    problem(operator.post(path, json=FALSE, headers={"Authorization": ""}), 401, "login-needed")
    problem(operator.get(f"/api/acts/judge_incident.x/{RUN}", headers={"Authorization": ""}), 401, "login-needed")
    assert (airflow.came, (tmp_path / "audit.jsonl").exists()) == ([], False)


def test_a_feed_that_is_not_declared_is_refused(operator, airflow):
    problem(operator.post("/api/feeds/none/statements", json=FALSE), 404, "unknown-feed")
    assert airflow.came == []


@pytest.mark.parametrize(("status", "answer", "kind"), [(404, 404, "unknown-act"), (409, 502, "airflow-refuses")])
def test_what_airflow_says_is_passed_on(operator, airflow, feed, tmp_path, status, answer, kind):
    airflow.status = status
    problem(operator.post(f"/api/feeds/{feed.name}/statements", json=FALSE), answer, kind)
    line, outcome = audited(tmp_path)
    assert (outcome["id"], outcome["outcome"]) == (line["id"], f"sundial:{kind}")


def test_an_airflow_that_is_away_is_named(operator, airflow, feed):
    airflow.away = True
    body = problem(operator.post(f"/api/feeds/{feed.name}/statements", json=FALSE), 503, "no-airflow")
    assert "http://airflow:8080" in body["detail"]
    assert "secret" not in json.dumps(body)


def test_an_audit_log_that_can_not_be_written_lets_nothing_happen(operator, airflow, feed, tmp_path):
    (tmp_path / "audit.jsonl").mkdir()
    client = TestClient(operator.app, base_url="http://127.0.0.1", raise_server_exceptions=False, headers=operator.headers)
    problem(client.post(f"/api/feeds/{feed.name}/statements", json=FALSE), 500, "unexpected")
    assert airflow.came == []


@pytest.mark.parametrize(("body", "reason"), [({}, ""), ({"reason": "unknown schema id 7"}, "unknown schema id 7")])
def test_a_replay_is_a_run_of_the_dag_for_all_topics(operator, airflow, feed, body, reason):
    answer = operator.post(f"/api/feeds/{feed.name}/dead-letters/replay", json=body)
    assert (answer.status_code, answer.json()["dag"]) == (202, "replay_dead_letters")
    assert answer.headers["Location"].startswith("/api/acts/replay_dead_letters/")
    assert operator.get(answer.headers["Location"]).status_code == 200
    _, path, asked = airflow.came[0]
    assert path == "/api/v2/dags/replay_dead_letters/dagRuns"
    assert asked["conf"] == {"topic": feed.topic, "send": True, "reason": reason, "user": "olga"}


def test_a_rollback_is_a_run_of_its_dag(operator, airflow, feed):
    answer = operator.post(f"/api/feeds/{feed.name}/baseline/rollback", json={"version": 7, "reason": "v8 is too low"})
    assert (answer.status_code, answer.json()["dag"]) == (202, f"rollback_baseline.{feed.name}")
    [(_, path, asked)] = airflow.came
    assert path == f"/api/v2/dags/rollback_baseline.{feed.name}/dagRuns"
    assert asked["conf"] == {"version": 7, "reason": "v8 is too low", "user": "olga"}
    problem(
        operator.post(f"/api/feeds/{feed.name}/baseline/rollback", json={"version": -1, "reason": "r"}), 422, "invalid-parameter"
    )


@pytest.mark.parametrize(("approve", "chosen"), [(True, "Approve"), (False, "Reject")])
def test_the_question_of_a_run_is_answered(operator, airflow, feed, approve, chosen):
    dags = ("nightly_baseline.other", f"nightly_baseline.{feed.name}")
    airflow.questions = [{"task_instance": APPROVAL | {"dag_id": dag}, "created_at": ASKED_AT} for dag in dags]
    path = f"/api/feeds/{feed.name}/gate-results/{RUN}/answer"
    answer = operator.post(path, json={"approve": approve, "reason": "a known change"})
    assert (answer.status_code, answer.json()["dag"]) == (202, f"nightly_baseline.{feed.name}")
    asked, answered, looked = airflow.came
    assert (asked[0], answered[0], looked[0]) == ("GET", "PATCH", "GET")
    assert answered[1].endswith(f"nightly_baseline.{feed.name}/dagRuns/{RUN}/taskInstances/approve/-1/hitlDetails")
    assert answered[2] == {"chosen_options": [chosen], "params_input": {"reason": "olga: a known change"}}


def test_a_run_that_asks_nothing_is_not_answered(operator, airflow, feed):
    airflow.questions = [{"task_instance": APPROVAL | {"dag_id": f"nightly_baseline.x{feed.name}"}, "created_at": ASKED_AT}]
    path = f"/api/feeds/{feed.name}/gate-results/{RUN}/answer"
    problem(operator.post(path, json={"approve": True, "reason": "r"}), 409, "no-question")
    assert len(airflow.came) == 1


@pytest.mark.parametrize("seconds", [-2, 0, 10])
def test_a_run_that_has_only_just_asked_is_not_answered_yet(operator, airflow, feed, seconds):
    asked_at = (dt.datetime.now(dt.UTC) - dt.timedelta(seconds=seconds)).isoformat()
    airflow.questions = [{"task_instance": APPROVAL | {"dag_id": f"nightly_baseline.{feed.name}"}, "created_at": asked_at}]
    path = f"/api/feeds/{feed.name}/gate-results/{RUN}/answer"
    said = problem(operator.post(path, json={"approve": True, "reason": "r"}), 409, "question-too-new")
    assert said["remedy"].startswith("Answer again in ")
    assert [method for method, *_ in airflow.came] == ["GET"]
    airflow.questions[0]["created_at"] = ASKED_AT
    assert operator.post(path, json={"approve": True, "reason": "r"}).status_code == 202


def test_a_stream_is_switched_on_and_off(operator, airflow, feed):
    dag = f"supervise_streams.{feed.name}"
    assert operator.post(f"/api/feeds/{feed.name}/stream", json={"on": True}).status_code == 204
    assert airflow.came == [("PATCH", f"/api/v2/dags/{dag}", {"is_paused": False})]
    airflow.came, airflow.active = [], [{"dag_run_id": RUN}]
    assert operator.post(f"/api/feeds/{feed.name}/stream", json={"on": False}).status_code == 204
    paused, _, ended = airflow.came
    assert paused == ("PATCH", f"/api/v2/dags/{dag}", {"is_paused": True})
    assert ended == ("PATCH", f"/api/v2/dags/{dag}/dagRuns/{RUN}", {"state": "success"})


def test_a_user_acts_sixty_times_a_minute_at_most(operator, airflow, feed):
    path = f"/api/feeds/{feed.name}/statements"
    assert [operator.post(path, json=FALSE).status_code for _ in range(61)] == [202] * 60 + [429]
    assert len(airflow.came) == 60
