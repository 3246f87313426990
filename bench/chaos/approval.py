"""A person's answer to a night's question, through Airflow's REST API."""

from collections.abc import Callable

from bench.platform import wait_for
from stack.instance import Instance
from stack.parts.dag_run import ENDED
from stack.parts.process import log_file

WITHIN = 600.0  # seconds until the question, and until Airflow is ready for the answer
Call = Callable[..., dict]  # of AirflowApi


def answer(call: Call, instance: Instance, run: tuple[str, str], chosen: str, reason: str, ends_within: float) -> str:
    """Answer the task `approve` of a run (its DAG and id), once it asks; how the run has ended."""
    path = "dags/{}/dagRuns/{}".format(*run)
    task = f"{path}/taskInstances/approve"
    wait_for("the question", lambda: call("GET", task)["state"] == "awaiting_input", WITHIN)
    # The scheduler must have noticed that the process which asked has ended: else it takes that for the end of the one that it
    # starts upon the answer, and fails the task. It says so in its log only.
    wait_for("the end of the process that asked", lambda: _noticed_end(instance, run[1]), WITHIN)
    call("PATCH", f"{task}/-1/hitlDetails", json={"chosen_options": [chosen], "params_input": {"reason": reason}})
    wait_for("the end of the run", lambda: call("GET", path)["state"] in ENDED, ends_within)
    return call("GET", path)["state"]


def _noticed_end(instance: Instance, run: str) -> bool:
    said = log_file(instance, "airflow-scheduler").read_text(errors="replace").splitlines()
    return any("TaskInstance Finished" in line and f"task_id=approve, run_id={run}," in line for line in said)
