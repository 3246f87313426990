"""What a task's log says, for people: Airflow writes a line of JSON for each message."""

import json
import re
from pathlib import Path

from stack.instance import Instance
from stack.parts import airflow

# How lines begin that the hook, Spark or the JVM printed.
OTHERS = re.compile(r"Spark-Submit cmd|\d{4}-\d\d-\d\dT|WARN|INFO|ERROR |:: |\d\d/\d\d/\d\d ")
LINES = 15


def label(task: dict) -> str:
    """A task for people: its name, and which of the mapped ones."""
    name = task["task_id"].rsplit(".", 1)[-1]
    mapped = task.get("rendered_map_index") or (task["map_index"] if task["map_index"] > 0 else "")
    return f"{name}[{mapped}]" if mapped else name


def task_log(instance: Instance, task: dict) -> Path:
    """Where a task's latest attempt logged."""
    parts = [f"dag_id={task['dag_id']}", f"run_id={task['dag_run_id']}", f"task_id={task['task_id']}"]
    if task["map_index"] >= 0:
        parts.append(f"map_index={task['map_index']}")
    return airflow.folder(instance).joinpath("logs", *parts, f"attempt={task['try_number']}.log")


def printed(log: Path) -> list[str]:
    """What a task's job itself printed, among all that its log holds."""
    return [each["event"] for each in _messages(log) if _of_job(each) and not OTHERS.match(each["event"])]


def failure(log: Path) -> str:
    """The error that a task's job ended with; if it named none, how the log ends."""
    messages = _messages(log)
    of_job = [each for each in messages if _of_job(each)]
    begin = next((at for at, each in enumerate(of_job) if each["event"].startswith("ERROR ")), None)
    if begin is None:
        shown = [each for each in messages if not each["event"].startswith("::")][-LINES:]
    else:
        shown = [of_job[begin], *(each for each in of_job[begin + 1 :] if not OTHERS.match(each["event"]))]
    return "\n".join(map(_line, shown)) or "(no log was written)"


def _messages(log: Path) -> list[dict]:
    """A line that was cut off, as its writer was killed, is none."""
    found = []
    for line in log.read_text(errors="replace").splitlines() if log.exists() else ():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def _of_job(message: dict) -> bool:
    return message.get("logger", "").endswith("SparkSubmitHook")


def _line(message: dict) -> str:
    """Of an exception its type and its text, without the stack trace."""
    raised = "".join(f": {each['exc_type']}: {each['exc_value']}" for each in message.get("error_detail", [])[:1])
    return f"{message['timestamp'][11:19]} {message['event']}{raised}"
