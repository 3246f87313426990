"""Airflow's REST API, as far as the main job needs it: unpause a DAG, begin a run, watch it."""

import datetime as dt
import time
from pathlib import Path

import httpx
from tenacity import RetryCallState, retry, retry_if_result, stop_after_attempt, wait_fixed

from stack import airflow
from stack.errors import StackError, tail
from stack.home import Home
from stack.process import log_file

ENDED = {"success", "failed"}
PARSED_WITHIN = 60.0  # seconds until the DAG processor must know a DAG


def _busy(answer: httpx.Response) -> bool:
    """SQLite, whose one writer is another component just now: what was asked for has been rolled back."""
    return answer.status_code == httpx.codes.INTERNAL_SERVER_ERROR and "Database error" in answer.text


def _last(state: RetryCallState) -> httpx.Response:
    return state.outcome.result()


class AirflowApi:
    """A session with the stack's own Airflow, logged in as its user. Raises StackError where none answers."""

    def __init__(self, home: Home):
        self.home, address = home, home.airflow
        login = {"username": airflow.USER, "password": home.secrets["password"]}
        try:
            token = httpx.post(f"{address}/auth/token", json=login, timeout=30)
            token.raise_for_status()
        except httpx.HTTPError as error:
            what = f"no Airflow answers at {address}: {error}"
            raise StackError(what, remedy="sundial status shows what runs, sundial up starts what does not") from error
        headers = {"Authorization": f"Bearer {token.json()['access_token']}"}
        self.client = httpx.Client(base_url=f"{home.airflow}/api/v2/", headers=headers, timeout=30)

    def call(self, method: str, path: str, **more) -> dict:
        answer = self._answer(method, path, **more)
        if answer.is_error:
            what = f"Airflow answered {answer.status_code} to {method} {path}: {answer.text[:300]}"
            raise StackError(what, log=log_file(self.home, "airflow-api-server"), remedy="see the log")
        return answer.json()

    @retry(retry=retry_if_result(_busy), stop=stop_after_attempt(10), wait=wait_fixed(1), retry_error_callback=_last)
    def _answer(self, method: str, path: str, **more) -> httpx.Response:
        return self.client.request(method, path, **more)

    def make_pool(self, name: str, slots: int, description: str) -> None:
        """The pool, where there is none of that name; one that is there stays as somebody may have set it."""
        if self.client.get(f"pools/{name}").status_code == httpx.codes.NOT_FOUND:
            self.call("POST", "pools", json={"name": name, "slots": slots, "description": description})

    def unpause(self, dag: str) -> None:
        """Wait until Airflow knows the DAG, then let its schedule run. Raises StackError with the DAG files' import errors."""
        deadline, asked = time.monotonic() + PARSED_WITHIN, False
        while self.client.get(f"dags/{dag}").status_code == httpx.codes.NOT_FOUND:
            asked = asked or self._parse_anew(dag)
            broken = self.call("GET", "importErrors")["import_errors"]
            if broken or time.monotonic() > deadline:
                reasons = "\n".join(f"{each['filename']}: {each['stack_trace'].strip().splitlines()[-1]}" for each in broken)
                what = f"Airflow does not know the DAG {dag}\n{reasons}".strip()
                remedy = "mend what is named; what was mended a moment ago, Airflow knows within two minutes"
                raise StackError(what, log=log_file(self.home, "airflow-dag-processor"), remedy=remedy)
            time.sleep(0.5)
        self._set_paused(dag, False)

    def _parse_anew(self, dag: str) -> bool:
        """Have the file that holds the DAG's siblings (`<kind>.<name>`) parsed at once: what the DAG is of may be declared since.

        False where Airflow knows no sibling, as right after its start.
        """
        siblings = self.call("GET", "dags", params={"dag_id_pattern": f"{dag.partition('.')[0]}.", "limit": 1})["dags"]
        return bool(siblings) and all(self.client.put(f"parseDagFile/{each['file_token']}").is_success for each in siblings)

    def pause(self, dag: str) -> None:
        """Let no further run begin by itself."""
        self._set_paused(dag, True)

    def end_active(self, dag: str) -> None:
        """Mark the DAG's active run as successful, if it has one: what its tasks supervise is told to stop."""
        if run := self._active(dag):
            self.call("PATCH", f"dags/{dag}/dagRuns/{run}", params={"update_mask": "state"}, json={"state": "success"})

    def _set_paused(self, dag: str, paused: bool) -> None:
        self.call("PATCH", f"dags/{dag}", params={"update_mask": "is_paused"}, json={"is_paused": paused})

    def begin(self, dag: str, conf: dict) -> str:
        """The id of the DAG's active run, or else of a new one.

        A DAG that is unpaused for the first time is overdue, and the scheduler starts a run of its own: that one is taken.
        """
        deadline = time.monotonic() + PARSED_WITHIN
        while not (active := self._active(dag)) and self._overdue(dag) and time.monotonic() < deadline:
            time.sleep(0.5)
        return active or self.trigger(dag, conf)

    def trigger(self, dag: str, conf: dict) -> str:
        """The id of a new run; one that is active goes first."""
        return self.call("POST", f"dags/{dag}/dagRuns", json={"logical_date": None, "conf": conf})["dag_run_id"]

    def _active(self, dag: str) -> str | None:
        runs = self.call("GET", f"dags/{dag}/dagRuns", params={"state": ["queued", "running"]})["dag_runs"]
        return runs[0]["dag_run_id"] if runs else None

    def _overdue(self, dag: str) -> bool:
        due = self.call("GET", f"dags/{dag}")["next_dagrun_run_after"]
        return due is not None and dt.datetime.fromisoformat(due) <= dt.datetime.now(dt.UTC)

    def watch(self, dag: str, run: str, say, timeout: float) -> None:
        """Say each change of a task's state until the run ends.

        Raises StackError with a task's log as soon as it fails, though the run may go on and ask a person what to do.
        """
        said, deadline = {}, time.monotonic() + timeout
        while True:
            state = self.call("GET", f"dags/{dag}/dagRuns/{run}")["state"]
            tasks = self.call("GET", f"dags/{dag}/dagRuns/{run}/taskInstances")["task_instances"]
            for task in tasks:
                if task["state"] and said.get(label(task)) != task["state"]:
                    said[label(task)] = task["state"]
                    say(f"  {label(task)}: {task['state']}")
            if failed := [task for task in tasks if task["state"] == "failed"]:
                self._explain(dag, run, failed)
            if state in ENDED:
                break
            if time.monotonic() > deadline:
                remedy = f"watch it at {self.home.airflow}/dags/{dag}/runs/{run}"
                raise StackError(f"{dag} has not ended after {timeout:.0f} s", remedy=remedy)
            time.sleep(0.5)
        if state == "failed":
            self._explain(dag, run, [])

    def _explain(self, dag: str, run: str, failed: list[dict]) -> None:
        names = ", ".join(label(task) for task in failed) or "no task"
        log = task_log(self.home, failed[0]) if failed else log_file(self.home, "airflow-scheduler")
        remedy = f"see {self.home.airflow}/dags/{dag}/runs/{run}; the DAG's page says what each failure means"
        raise StackError(f"{dag} failed in {names}; the last lines of its log:\n{tail(log)}", log=log, remedy=remedy)


def label(task: dict) -> str:
    """A task for people: its name, and which of the mapped ones."""
    name = task["task_id"].rsplit(".", 1)[-1]
    mapped = task.get("rendered_map_index") or (task["map_index"] if task["map_index"] > 0 else "")
    return f"{name}[{mapped}]" if mapped else name


def task_log(home: Home, task: dict) -> Path:
    """Where a task's latest attempt logged."""
    parts = [f"dag_id={task['dag_id']}", f"run_id={task['dag_run_id']}", f"task_id={task['task_id']}"]
    if task["map_index"] >= 0:
        parts.append(f"map_index={task['map_index']}")
    return airflow.folder(home).joinpath("logs", *parts, f"attempt={task['try_number']}.log")
