"""Batch jobs that a person asks for on the stack: run through their DAG in Airflow, and told in the driver's own words."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from stack.airflow_api import AirflowApi, task_log
from stack.home import Home

WITHIN = 1800.0  # seconds
# How lines begin that the hook, Spark or the JVM printed.
OTHERS = re.compile(r"Spark-Submit cmd|\d{4}-\d\d-\d\dT|WARN|INFO|ERROR |:: |\d\d/\d\d/\d\d ")


def run(home: Home, dag: str, task: str, conf: dict, say: Callable[[str], None]) -> list[str]:
    """Switch the DAG on, have it run once, and wait; what its task's job printed. Raises StackError with the log's end."""
    api = AirflowApi(home)
    api.unpause(dag)
    run_id = api.trigger(dag, conf) if conf else api.begin(dag, conf)  # one that the schedule has begun does the same
    api.watch(dag, run_id, say, WITHIN)
    found = api.call("GET", f"dags/{dag}/dagRuns/{run_id}/taskInstances")["task_instances"]
    return printed(next(task_log(home, each) for each in found if each["task_id"] == task))


def printed(log: Path) -> list[str]:
    """What a task's job itself printed, among all that its log holds."""
    entries = (json.loads(line) for line in log.read_text().splitlines())
    of_driver = (each["event"] for each in entries if each.get("logger", "").endswith("SparkSubmitHook"))
    return [line for line in of_driver if not OTHERS.match(line)]
