"""Batch jobs that a person asks for on the stack: run once through their DAG in Airflow; what the job printed is returned."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from stack.instance import Instance
from stack.parts.airflow_api import AirflowApi, task_log

WITHIN = 1800.0  # seconds
# How lines begin that the hook, Spark or the JVM printed.
OTHERS = re.compile(r"Spark-Submit cmd|\d{4}-\d\d-\d\dT|WARN|INFO|ERROR |:: |\d\d/\d\d/\d\d ")


def run(instance: Instance, dag: str, task: str, conf: dict, say: Callable[[str], None]) -> list[str]:
    """Switch the DAG on, have it run once, and wait; what its task's job printed. Raises StackError with the log's end."""
    api = AirflowApi(instance)
    if conf:
        api.unpause(dag)
        run_id = api.trigger(dag, conf)
    else:
        run_id = api.start(dag)  # a run that the schedule makes does the same
    api.watch(dag, run_id, say, WITHIN)
    found = api.call("GET", f"dags/{dag}/dagRuns/{run_id}/taskInstances")["task_instances"]
    return printed(next(task_log(instance, each) for each in found if each["task_id"] == task))


def printed(log: Path) -> list[str]:
    """What a task's job itself printed, among all that its log holds."""
    entries = (json.loads(line) for line in log.read_text().splitlines())
    of_driver = (each["event"] for each in entries if each.get("logger", "").endswith("SparkSubmitHook"))
    return [line for line in of_driver if not OTHERS.match(line)]
