"""Of a log of JSON lines, people see what the job printed, and why it failed."""

import json
from pathlib import Path

from stack.parts.task_output import LINES, failure, printed

HOOK = "airflow.providers.apache.spark.hooks.spark_submit.SparkSubmitHook"
BEGUN = [
    ("::group::Log message source details", None),
    ("DAG bundles loaded: dags-folder", "airflow.dag_processing.bundles.manager.DagBundlesManager"),
    ("Spark-Submit cmd: spark-submit bootstrap.py", HOOK),
    ("2026-11-28T07:05:12.000Z WARN Utils: Your hostname is odd", HOOK),
    ("reading cars.csv: 1 file(s), CSV", HOOK),
]
ERROR = ["ERROR cars.csv: nothing was loaded, as", "- column 'at': 2 of 9 rows have no time"]
RAISED = {
    "error_detail": [{"exc_type": "AirflowException", "exc_value": "Cannot execute: spark-submit", "frames": [{"lineno": 1}]}]
}


def log(folder: Path, *messages: tuple[str, str | None], raised: bool = True) -> Path:
    lines = [
        {"timestamp": "2026-11-28T07:05:12.345678Z", "level": "info", "event": event, "logger": by} for event, by in messages
    ]
    lines = [{key: value for key, value in line.items() if value is not None} for line in lines]
    if raised:
        lines.append(lines[0] | {"level": "error", "event": "Task failed with exception", "logger": "task"} | RAISED)
        lines.append(lines[0] | {"event": "::group::Post Execute", "logger": "task"})
    file = folder / "attempt=1.log"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def test_the_error_of_the_job_is_all_that_is_shown(tmp_path):
    late = ("2026-11-28T07:05:13.000Z WARN ShutdownHookManager: slow", HOOK)
    file = log(tmp_path, *BEGUN, *((line, HOOK) for line in ERROR), late)
    assert failure(file).splitlines() == [f"07:05:12 {line}" for line in ERROR]


def test_without_one_the_log_ends_with_the_exception_but_no_stack_trace(tmp_path):
    shown = failure(log(tmp_path, *BEGUN)).splitlines()
    assert shown == [
        *(f"07:05:12 {event}" for event, _ in BEGUN[1:]),
        "07:05:12 Task failed with exception: AirflowException: Cannot execute: spark-submit",
    ]
    assert len(failure(log(tmp_path, *BEGUN * 9)).splitlines()) == LINES


def test_a_log_that_was_cut_off_or_never_written_is_no_mistake(tmp_path):
    file = log(tmp_path, *BEGUN, raised=False)
    file.write_text(file.read_text() + '{"timestamp": "2026-')
    assert failure(file).splitlines()[-1] == "07:05:12 reading cars.csv: 1 file(s), CSV"
    assert failure(tmp_path / "nowhere.log") == "(no log was written)"


def test_what_the_job_printed_is_told_from_what_others_did(tmp_path):
    assert printed(log(tmp_path, *BEGUN, raised=False)) == ["reading cars.csv: 1 file(s), CSV"]
