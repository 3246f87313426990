"""Whichever request the scheduler's own run comes before: a DAG that is started has one run, and that one is returned. An API
server that died is waited for, one that was stopped is not."""

import datetime as dt
import json

import httpx
import pytest

from stack.errors import StackError
from stack.instance import Instance
from stack.parts import airflow as parts
from stack.parts import airflow_api
from stack.parts.airflow_api import AirflowApi

DAG = "nightly_baseline.service-use"
DUE = "2026-11-22T06:00:00Z"


class Airflow:
    """One DAG. Where it is due, the scheduler makes its run after so many requests more, once it is not paused; and then moves
    `next_dagrun_run_after` on in the same moment, as Airflow does."""

    def __init__(self, requests: int, due: bool = True):
        self.left, self.due, self.paused, self.runs = requests, due, True, []

    def answer(self, request: httpx.Request) -> httpx.Response:
        if self.due and not self.paused:
            self.left -= 1
            if self.left < 0:
                self.due = False
                self.runs.append({"dag_run_id": "scheduled__1", "state": "queued", "run_type": "scheduled", "run_after": DUE})
        path = request.url.path.removeprefix("/api/v2/")
        if path == "/auth/token":
            return httpx.Response(200, json={"access_token": "t"})
        if (request.method, path) == ("GET", f"dags/{DAG}"):
            later = (dt.datetime.now(dt.UTC) + dt.timedelta(hours=3)).isoformat()
            return httpx.Response(200, json={"next_dagrun_run_after": DUE if self.due else later})
        if (request.method, path) == ("PATCH", f"dags/{DAG}"):
            self.paused = json.loads(request.content)["is_paused"]
            return httpx.Response(200, json={})
        assert path == f"dags/{DAG}/dagRuns"
        if request.method == "POST":
            self.runs.append({"dag_run_id": "manual__1", "state": "queued", "run_type": "manual", "run_after": DUE})
            return httpx.Response(200, json=self.runs[-1])
        wanted = request.url.params
        states, types = wanted.get_list("state"), wanted.get_list("run_type")
        found = [each for each in self.runs if not states or each["state"] in states]
        found = [each for each in found if not types or each["run_type"] in types]
        return httpx.Response(200, json={"dag_runs": found[:1]})


@pytest.fixture
def api(tmp_path, monkeypatch):
    """api(airflow): a session with it."""

    client = httpx.Client

    def session(airflow: Airflow) -> AirflowApi:
        monkeypatch.setattr(httpx, "Client", lambda **of: client(transport=httpx.MockTransport(airflow.answer), **of))
        return AirflowApi(Instance(tmp_path).make(base=0))

    monkeypatch.setattr(airflow_api.time, "sleep", lambda _: None)
    return session


@pytest.mark.parametrize("requests", range(8))
def test_a_run_that_is_due_is_waited_for_however_late_the_scheduler_makes_it(api, requests):
    airflow = Airflow(requests)
    assert api(airflow).start(DAG) == "scheduled__1"
    assert [run["dag_run_id"] for run in airflow.runs] == ["scheduled__1"]
    assert not airflow.paused


def test_where_none_is_due_an_active_run_is_taken_or_else_one_is_made(api):
    airflow = Airflow(0, due=False)
    assert api(airflow).start(DAG) == "manual__1"
    assert api(airflow).start(DAG) == "manual__1"
    assert len(airflow.runs) == 1
    airflow.runs[0]["state"] = "success"
    api(airflow).start(DAG)
    assert len(airflow.runs) == 2


def test_a_scheduler_that_makes_no_run_is_named(api, monkeypatch):
    monkeypatch.setattr(airflow_api, "SCHEDULED_WITHIN", 0.0)
    with pytest.raises(StackError, match="the scheduler has made no run"):
        api(Airflow(1000)).start(DAG)


class Away(Airflow):
    """An API server that answers only after it has refused so many requests."""

    def __init__(self, refused: int, error: type[httpx.TransportError] = httpx.ConnectError):
        super().__init__(0, due=False)
        self.refused, self.error, self.asked = refused, error, 0

    def answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/auth/token":
            return super().answer(request)
        self.asked += 1
        if self.asked <= self.refused:
            raise self.error("refused", request=request)
        return super().answer(request)


def recorded(of: AirflowApi) -> None:
    """As if Airflow's parts had been started."""
    for name in parts.COMPONENTS:
        (of.instance.runs / f"{name}.json").write_text("{}")


def test_an_api_server_that_died_is_waited_for(api):
    session = api(airflow := Away(5))
    recorded(session)
    assert session.start(DAG) == "manual__1"
    assert airflow.asked > 5


def test_one_of_a_stack_that_was_stopped_is_not(api):
    session = api(airflow := Away(5))
    with pytest.raises(StackError, match="was stopped"):
        session.start(DAG)
    assert airflow.asked == 1


def test_one_that_stays_away_is_named(api, monkeypatch):
    monkeypatch.setattr(airflow_api, "BACK_WITHIN", 0.0)
    session = api(Away(5))
    recorded(session)
    with pytest.raises(StackError, match=f"did not answer GET dags/{DAG}: refused"):
        session.start(DAG)


def test_what_broke_off_is_not_asked_again_as_it_may_have_been_done(api):
    session = api(airflow := Away(5, httpx.ReadTimeout))
    recorded(session)
    with pytest.raises(StackError, match="did not answer"):
        session.trigger(DAG, {})
    assert airflow.asked == 1
