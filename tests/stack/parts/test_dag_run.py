"""The watch of a run says which tasks change, what a long task does, what it waits for, and why the run failed."""

import json
from pathlib import Path

import pytest

from stack.errors import StackError
from stack.instance import Instance
from stack.parts import dag_run, task_output
from stack.parts.airflow_api import AirflowApi
from stack.parts.dag_run import watch

DAG, RUN = "find_incidents.cars", "manual__1"
HOOK = "airflow.providers.apache.spark.hooks.spark_submit.SparkSubmitHook"


class Looks(AirflowApi):
    """Each look at the run finds its one task in the next of these states; the run ends with the last."""

    def __init__(self, instance: Instance, states: list[str], holders: list[dict] | None = None):
        self.instance, self.states, self.holders = instance, states, holders or []

    def call(self, method: str, path: str, **more) -> dict:
        if path == "pools/spark":
            return {"slots": 2}
        if path == "dags/~/dagRuns/~/taskInstances":
            assert more["params"] == {"pool": "spark", "state": ["running", "queued"]}
            return {"task_instances": self.holders}
        if path == f"dags/{DAG}/dagRuns/{RUN}":
            return {"state": self.states[0] if len(self.states) == 1 else "running"}
        assert path == f"dags/{DAG}/dagRuns/{RUN}/taskInstances"
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {"task_instances": [task("find_incidents", state)]}


def task(name: str, state: str, dag: str = DAG) -> dict:
    return {"dag_id": dag, "dag_run_id": RUN, "task_id": name, "state": state, "map_index": -1, "try_number": 1, "pool": "spark"}


@pytest.fixture
def instance(tmp_path, monkeypatch) -> Instance:
    """Of which a run is looked at without a pause; each look is a minute after the one before."""
    minutes = iter(range(10_000))
    monkeypatch.setattr(dag_run.time, "monotonic", lambda: 60.0 * next(minutes))
    monkeypatch.setattr(dag_run.time, "sleep", lambda _: None)
    return Instance(tmp_path).make(base=0)


def log(instance: Instance, *printed: str) -> Path:
    file = task_output.task_log(instance, task("find_incidents", "running"))
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"timestamp": "2026-11-28T07:05:12.345678Z", "event": event, "logger": HOOK} for event in printed]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def watched(api: AirflowApi) -> list[str]:
    said: list[str] = []
    watch(api, DAG, RUN, said.append, 10_000)
    return said


def test_of_a_task_that_runs_for_long_the_last_line_of_its_job_is_said_once(instance):
    log(instance, "2026-10-01: 24 readings", "2026-10-02: 24 readings", "2026-11-28T07:05:12.000Z WARN Utils: odd")
    said = watched(Looks(instance, ["queued", "running", "running", "running", "success"]))
    assert said == [
        "  find_incidents: queued",
        "  find_incidents: running",
        "  find_incidents: 2026-10-02: 24 readings",
        "  find_incidents: success",
    ]


def test_a_task_whose_job_has_printed_nothing_yet_says_nothing(instance):
    assert watched(Looks(instance, ["running", "running", "success"])) == [
        "  find_incidents: running",
        "  find_incidents: success",
    ]


def test_what_has_the_slots_of_its_pool_is_named(instance):
    holders = [task("archive", "running", "nightly_baseline.rides"), task("build_baseline", "queued", "nightly_baseline.shop")]
    said = watched(Looks(instance, ["scheduled", "scheduled", "scheduled", "running", "success"], holders))
    assert said[:2] == [
        "  find_incidents: scheduled",
        "  find_incidents: waits for one of the 2 slots of the pool spark, which nightly_baseline.rides (archive), "
        "nightly_baseline.shop (build_baseline) have",
    ]
    assert len(said) == 4


def test_where_a_slot_is_free_it_waits_for_airflow(instance):
    said = watched(Looks(instance, ["scheduled", "scheduled", "success"], [task("archive", "running")]))
    assert said[1] == "  find_incidents: waits for Airflow to start it"


def test_a_failed_run_names_the_task_its_error_the_log_and_what_to_do(instance):
    error = ["ERROR cars.csv: nothing was loaded, as", "- column 'at': 2 of 9 rows have no time"]
    file = log(instance, "reading cars.csv", *error)
    with pytest.raises(StackError) as failed:
        watched(Looks(instance, ["failed"]))
    said = str(failed.value).splitlines()
    assert said[:4] == [f"{DAG} failed in find_incidents:", *(f"07:05:12 {line}" for line in error), f"log: {file}"]
    assert said[4].startswith(f"what to do: see {instance.airflow}/dags/{DAG}/runs/{RUN}; ")
