"""Acts as runs of Airflow's DAGs. Airflow says what became of them."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

import httpx

from serving.problems import ProblemError
from supervision.airflow_rest import AirflowError, AirflowRest

State = Literal["queued", "running", "success", "failed"]
APPROVE = "approve"  # the task that asks, see dags/feed_dags.py
# How old a question must be. Airflow's scheduler first has to notice that the process which asked has ended: else it takes that
# for the end of the one that the answer starts, and fails the task. It looks every three seconds; its API does not say so.
SETTLED = dt.timedelta(seconds=15)
USER = "user"  # in a run's conf: who asked for it, by serving


@dataclass(frozen=True)
class Act:
    """A run of a DAG. url: its page in Airflow."""

    dag: str
    run: str
    state: State
    url: str


class ThroughAirflow:
    """airflow: None: nobody has said where Airflow is, so nothing can be changed."""

    def __init__(self, airflow: AirflowRest | None, address: str):
        self._airflow, self._address = airflow, address

    def begin(self, dag: str, conf: Mapping[str, Any], user: str) -> Act:
        """A new run of the DAG. Raises ProblemError where Airflow refuses it or can't be asked. The DAG is unpaused: a run of one
        that is paused, as each new one is, stays in the queue. None of these DAGs has a schedule."""
        self._set_paused(dag, False)
        asked = {"logical_date": None, "conf": {**conf, USER: user}, "note": f"{user}, by the API"}
        return self._act(dag, self._asked("POST", f"dags/{quote(dag)}/dagRuns", json=asked))

    def answer(self, feed: str, run: str, approves: bool, reason: str, user: str) -> Act:
        """Answer the question of a run whether its refused candidate is promoted nevertheless. Raises ProblemError, also if the
        run asks nothing, or no longer, or has only just asked."""
        asked = self._question(feed, run)
        age = dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(asked["created_at"])
        if abs(age) < SETTLED:
            detail = f"The run {run} of {feed} has only just asked, and Airflow may lose an answer that comes so early."
            remedy = f"Answer again in {(SETTLED - age).total_seconds():.0f} seconds."
            raise ProblemError(409, "question-too-new", "Airflow is not ready for the answer", detail, remedy)
        asking = asked["task_instance"]
        said = {"chosen_options": ["Approve" if approves else "Reject"], "params_input": {"reason": f"{user}: {reason}"}}
        task = f"dags/{quote(asking['dag_id'])}/dagRuns/{quote(run)}/taskInstances/{APPROVE}/{asking['map_index']}/hitlDetails"
        self._asked("PATCH", task, json=said)
        return self.look(asking["dag_id"], run)

    def _question(self, feed: str, run: str) -> dict[str, Any]:
        """The open question of the run, as Airflow has it. Raises ProblemError if there is none."""
        which = {"response_received": False, "limit": 100}
        for each in self._asked("GET", f"dags/~/dagRuns/{quote(run)}/hitlDetails", params=which)["hitl_details"]:
            task = each["task_instance"]
            if task["dag_id"].endswith(f".{feed}") and task["task_id"] == APPROVE:
                return each
        detail = f"The run {run} of {feed} waits for no answer."
        remedy = "Somebody has answered it, it has ended, or it does not ask yet. Load the page again."
        raise ProblemError(409, "no-question", "Nothing waits for an answer", detail, remedy)

    def switch(self, dag: str, on: bool) -> None:
        """Let the runs of a stream's DAG begin by themselves, or end the one that is active and let no other begin."""
        self._set_paused(dag, not on)
        if on:
            return
        which = {"state": ["queued", "running"], "order_by": "-run_after", "limit": 1}
        for run in self._asked("GET", f"dags/{quote(dag)}/dagRuns", params=which)["dag_runs"]:
            ended = {"params": {"update_mask": "state"}, "json": {"state": "success"}}
            self._asked("PATCH", f"dags/{quote(dag)}/dagRuns/{quote(run['dag_run_id'])}", **ended)

    def _set_paused(self, dag: str, paused: bool) -> None:
        self._asked("PATCH", f"dags/{quote(dag)}", params={"update_mask": "is_paused"}, json={"is_paused": paused})

    def page(self, dag: str) -> str | None:
        """The page of the DAG in Airflow; None: nobody has said where browsers find Airflow."""
        return f"{self._address}/dags/{quote(dag)}" if self._address else None

    def look(self, dag: str, run: str) -> Act:
        return self._act(dag, self._asked("GET", f"dags/{quote(dag)}/dagRuns/{quote(run)}"))

    def _act(self, dag: str, found: Mapping[str, Any]) -> Act:
        run = found["dag_run_id"]
        return Act(dag, run, found["state"], f"{self._address}/dags/{quote(dag)}/runs/{quote(run)}")

    def _asked(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        if self._airflow is None:
            remedy = "Set SUNDIAL_AIRFLOW, SUNDIAL_AIRFLOW_USER and SUNDIAL_AIRFLOW_PASSWORD of serving, and restart it."
            raise ProblemError(503, "no-airflow", "Nothing can be changed here", "Serving does not know an Airflow.", remedy)
        try:
            return self._airflow.call(method, path, **more)
        except (AirflowError, httpx.TransportError) as error:
            status = error.status if isinstance(error, AirflowError) else None
            if status is None:
                detail = f"Airflow at {self._address} does not answer: {error}"
                raise ProblemError(
                    503, "no-airflow", "Airflow does not answer", detail, "Start Airflow, or try again."
                ) from error
            if status == httpx.codes.NOT_FOUND:
                remedy = "What was declared just now has its DAGs within five minutes."
                raise ProblemError(404, "unknown-act", "Airflow does not know this", str(error), remedy) from error
            raise ProblemError(502, "airflow-refuses", "Airflow refused it", str(error), "See Airflow's log.") from error
