"""Airflow's REST API, as far as the commands need it: unpause a DAG, start a run. `dag_run` watches it."""

import datetime as dt
import time
from collections.abc import Callable
from typing import TypeVar

import httpx

from stack.errors import StackError
from stack.instance import Instance
from stack.parts import airflow
from stack.parts.process import log_file
from supervision.airflow_rest import AirflowError, AirflowRest

ACTIVE = ("queued", "running")
PARSED_WITHIN = 60.0  # seconds until the DAG processor must know a DAG
BACK_WITHIN = 60.0  # seconds until an API server that died must answer again
SCHEDULED_WITHIN = 300.0  # seconds until the scheduler must have made a run that is due

Answer = TypeVar("Answer")


class AirflowApi:
    """A session with the stack's own Airflow, logged in as its user. Raises StackError where none answers."""

    def __init__(self, instance: Instance):
        self.instance = instance
        self.rest = AirflowRest(instance.airflow, airflow.USER, instance.secrets["password"])
        try:
            self.rest.log_in()
        except AirflowError as error:
            raise StackError(str(error), remedy="sundial status shows what runs, sundial up starts what does not") from error

    def call(self, method: str, path: str, **more) -> dict:
        """What Airflow answers. Raises StackError if it refuses, or does not answer."""
        return self._asked(self.rest.call, method, path, **more)

    def _answer(self, method: str, path: str, **more) -> httpx.Response:
        """As `call`, but also an answer that refuses."""
        return self._asked(self.rest.answer, method, path, **more)

    def _asked(self, ask: Callable[..., Answer], method: str, path: str, **more) -> Answer:
        """An API server that died is back soon, as the watcher starts it; one of a stack that was stopped is not."""
        log, deadline = log_file(self.instance, "airflow-api-server"), time.monotonic() + BACK_WITHIN
        while True:
            try:
                return ask(method, path, **more)
            except AirflowError as error:
                raise StackError(str(error), log=log, remedy="see the log") from error
            except httpx.TransportError as error:
                airflow.require_started(self.instance)
                # Without a connection, it was not asked; what broke off may have been done.
                if not isinstance(error, httpx.ConnectError) or time.monotonic() > deadline:
                    what = f"Airflow at {self.instance.airflow} did not answer {method} {path}: {error}"
                    raise StackError(what, log=log, remedy="sundial status shows what runs; then run this again") from error
            time.sleep(0.5)

    def make_pool(self, name: str, slots: int, description: str) -> None:
        """The pool, where there is none of that name; one that is there keeps the size that someone set."""
        if self._answer("GET", f"pools/{name}").status_code == httpx.codes.NOT_FOUND:
            self.call("POST", "pools", json={"name": name, "slots": slots, "description": description})

    def unpause(self, dag: str) -> None:
        """Wait until Airflow knows the DAG, then let its schedule run. Raises StackError with the DAG files' import errors."""
        self._await_known(dag)
        self._set_paused(dag, False)

    def start(self, dag: str) -> str:
        """Unpause the DAG. Returns the id of the run that follows: the active one, the one that is due, or else a new one.

        A DAG that is unpaused for the first time is due: the scheduler makes a run by itself, sooner or later, and a second run
        would do the work twice. Airflow creates a run and moves `next_dagrun_run_after` on in one transaction. So one look at
        that, before anything else, decides whether a run is still to come.
        """
        self._await_known(dag)
        due = self.call("GET", f"dags/{dag}")["next_dagrun_run_after"]
        self._set_paused(dag, False)
        if due is None or dt.datetime.fromisoformat(due) > dt.datetime.now(dt.UTC):
            return self._newest(dag, state=ACTIVE) or self.trigger(dag, {})
        deadline = time.monotonic() + SCHEDULED_WITHIN
        scheduled = {"run_type": "scheduled", "run_after_gte": due}
        while not (run := self._newest(dag, **scheduled) or self._newest(dag, state=ACTIVE)):
            if time.monotonic() > deadline:
                what = f"{dag} is due since {due}, but the scheduler has made no run in {SCHEDULED_WITHIN:.0f} s"
                raise StackError(what, log=log_file(self.instance, "airflow-scheduler"), remedy="see the log")
            time.sleep(0.5)
        return run

    def _await_known(self, dag: str) -> None:
        deadline, parse_requested = time.monotonic() + PARSED_WITHIN, False
        while self._answer("GET", f"dags/{dag}").status_code == httpx.codes.NOT_FOUND:
            parse_requested = parse_requested or self._request_parse(dag)
            broken = self.call("GET", "importErrors")["import_errors"]
            if broken or time.monotonic() > deadline:
                reasons = "\n".join(f"{each['filename']}: {each['stack_trace'].strip().splitlines()[-1]}" for each in broken)
                what = f"Airflow does not know the DAG {dag}\n{reasons}".strip()
                remedy = "correct what is named; Airflow sees a correction within five minutes"
                raise StackError(what, log=log_file(self.instance, "airflow-dag-processor"), remedy=remedy)
            time.sleep(0.5)

    def _request_parse(self, dag: str) -> bool:
        """Have the file that holds the DAG's siblings (`<kind>.<name>`) parsed at once: what the DAG is of may be declared since.

        False where Airflow knows no sibling, as right after its start.
        """
        siblings = self.call("GET", "dags", params={"dag_id_pattern": f"{dag.partition('.')[0]}.", "limit": 1})["dags"]
        return bool(siblings) and all(self._answer("PUT", f"parseDagFile/{each['file_token']}").is_success for each in siblings)

    def pause(self, dag: str) -> None:
        """Let no further run begin by itself."""
        self._set_paused(dag, True)

    def end_active(self, dag: str) -> None:
        """Mark the DAG's active run as successful, if it has one: what its tasks supervise then stops."""
        if run := self._newest(dag, state=ACTIVE):
            self.call("PATCH", f"dags/{dag}/dagRuns/{run}", params={"update_mask": "state"}, json={"state": "success"})

    def _set_paused(self, dag: str, paused: bool) -> None:
        self.call("PATCH", f"dags/{dag}", params={"update_mask": "is_paused"}, json={"is_paused": paused})

    def trigger(self, dag: str, conf: dict) -> str:
        """The id of a new run, beside what the schedule makes; one that is active goes first."""
        return self.call("POST", f"dags/{dag}/dagRuns", json={"logical_date": None, "conf": conf})["dag_run_id"]

    def _newest(self, dag: str, **which) -> str | None:
        """The id of the newest of the runs that the filters of the API name."""
        runs = self.call("GET", f"dags/{dag}/dagRuns", params=which | {"order_by": "-run_after", "limit": 1})["dag_runs"]
        return runs[0]["dag_run_id"] if runs else None
