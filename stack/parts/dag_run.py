"""A run of a DAG, watched until it ends: what changes, what its tasks do or wait for meanwhile, and why one failed."""

import time
from collections.abc import Callable
from typing import Any

from stack.errors import StackError, tail
from stack.parts.airflow_api import AirflowApi
from stack.parts.process import log_file
from stack.parts.task_output import failure, label, printed, task_log

ENDED = {"success", "failed"}
QUIET = 30.0  # seconds without news of a task, after which what it does or waits for is said
Say = Callable[[str], None]
Task = dict[str, Any]


def watch(api: AirflowApi, dag: str, run: str, say: Say, timeout: float) -> None:
    """Say each change of a task's state until the run ends.

    Raises StackError with a task's error as soon as it fails, though the run may go on and ask a person what to do.
    """
    report, deadline = _Report(api, say), time.monotonic() + timeout
    while True:
        state = api.call("GET", f"dags/{dag}/dagRuns/{run}")["state"]
        tasks = api.call("GET", f"dags/{dag}/dagRuns/{run}/taskInstances")["task_instances"]
        for task in tasks:
            report.look(task)
        if failed := [task for task in tasks if task["state"] == "failed"]:
            _explain(api, dag, run, failed)
        if state in ENDED:
            break
        if time.monotonic() > deadline:
            remedy = f"watch it at {api.instance.airflow}/dags/{dag}/runs/{run}"
            raise StackError(f"{dag} has not ended after {timeout:.0f} s", remedy=remedy)
        time.sleep(0.5)
    if state == "failed":
        _explain(api, dag, run, [])


class _Report:
    """What is said of a run's tasks."""

    def __init__(self, api: AirflowApi, say: Say):
        self._api, self._say = api, say
        self._states: dict[str, str] = {}
        self._more: dict[str, str] = {}
        self._at: dict[str, float] = {}  # monotonic seconds of the last look that might have said something

    def look(self, task: Task) -> None:
        name, state, now = label(task), task["state"], time.monotonic()
        if not state:
            return
        if self._states.get(name) != state:
            self._states[name], self._at[name] = state, now
            self._say(f"  {name}: {state}")
        elif now - self._at[name] > QUIET:
            self._at[name] = now
            more = self._meanwhile(task)
            if more and self._more.get(name) != more:
                self._more[name] = more
                self._say(f"  {name}: {more}")

    def _meanwhile(self, task: Task) -> str | None:
        """What a task does or waits for; None if that is not known."""
        if task["state"] == "running":
            return next(reversed(printed(task_log(self._api.instance, task))), None)
        return self._waits_for(task["pool"]) if task["state"] == "scheduled" else None

    def _waits_for(self, pool: str) -> str:
        slots = self._api.call("GET", f"pools/{pool}")["slots"]
        holding = {"pool": pool, "state": ["running", "queued"]}
        holders = self._api.call("GET", "dags/~/dagRuns/~/taskInstances", params=holding)["task_instances"]
        if len(holders) < slots:
            return "waits for Airflow to start it"
        names = ", ".join(f"{each['dag_id']} ({label(each)})" for each in holders)
        return f"waits for one of the {slots} slots of the pool {pool}, which {names} {'have' if len(holders) > 1 else 'has'}"


def _explain(api: AirflowApi, dag: str, run: str, failed: list[Task]) -> None:
    names = ", ".join(label(task) for task in failed) or "no task"
    log = task_log(api.instance, failed[0]) if failed else log_file(api.instance, "airflow-scheduler")
    said = failure(log) if failed else tail(log)
    remedy = f"see {api.instance.airflow}/dags/{dag}/runs/{run}; the DAG's page says what each failure means"
    raise StackError(f"{dag} failed in {names}:\n{said}", log=log, remedy=remedy)
