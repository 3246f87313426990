"""Batch jobs that a person asks for on the stack: run once through their DAG in Airflow; what the job printed is returned."""

from collections.abc import Callable

from stack.instance import Instance
from stack.parts.airflow_api import AirflowApi
from stack.parts.dag_run import watch
from stack.parts.task_output import printed, task_log

WITHIN = 1800.0  # seconds


def run(instance: Instance, dag: str, task: str, conf: dict, say: Callable[[str], None]) -> list[str]:
    """Switch the DAG on, have it run once, and wait; what its task's job printed. Raises StackError with the job's error."""
    api = AirflowApi(instance)
    if conf:
        api.unpause(dag)
        run_id = api.trigger(dag, conf)
    else:
        run_id = api.start(dag)  # a run that the schedule makes does the same
    watch(api, dag, run_id, say, WITHIN)
    found = api.call("GET", f"dags/{dag}/dagRuns/{run_id}/taskInstances")["task_instances"]
    return printed(next(task_log(instance, each) for each in found if each["task_id"] == task))
