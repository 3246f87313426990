"""Airflow of the embedded stack, one process per component, each started, watched and stopped on its own.

`airflow standalone` is not used: it leaves children behind when it is stopped. Components run without the log servers that
would listen on every interface of the machine; the API server reads task logs from the disk that all components share.
"""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import httpx

from contracts.alerts import WEBHOOK
from stack import private
from stack.errors import StackError, tail
from stack.install import java
from stack.instance import HOST, ROOT, SPARK_MASTER, Instance
from stack.parts import process

USER = "admin"
NAMESPACE = "sundial"  # of jobs, in events of OpenLineage
SPARK_CORES = 4  # two queries of a stream take turns, and each keeps a task for each partition
COMPONENTS = {
    "airflow-api-server": ["api-server"],
    "airflow-scheduler": ["scheduler", "--skip-serve-logs"],
    "airflow-dag-processor": ["dag-processor"],
    "airflow-triggerer": ["triggerer", "--skip-serve-logs"],
}
REPORTED = {"airflow-scheduler": "scheduler", "airflow-dag-processor": "dag_processor", "airflow-triggerer": "triggerer"}


def folder(instance: Instance) -> Path:
    return instance.path / "airflow"


def require_started(instance: Instance) -> None:
    """Raises StackError if Airflow was stopped, or never started. It counts as started while the watcher brings it back."""
    if not all(name in process.recorded(instance) for name in COMPONENTS):
        raise StackError(f"the stack in {instance.path} was stopped", remedy="start it: sundial up; then run this again")


def environment(instance: Instance) -> dict[str, str]:
    """Airflow's configuration; the command-line tool `airflow` works with it too (see `sundial env --airflow`)."""
    settings = {
        "CORE__DAGS_FOLDER": ROOT / "dags",
        "CORE__PLUGINS_FOLDER": ROOT / "dags" / "plugins",
        "CORE__EXECUTOR": "LocalExecutor",
        "CORE__PARALLELISM": 4,
        "CORE__LOAD_EXAMPLES": False,
        "CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
        "CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": folder(instance) / "passwords.json",
        "CORE__EXECUTION_API_SERVER_URL": f"{instance.airflow}/execution/",
        "DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{folder(instance) / 'airflow.db'}",
        "API__HOST": HOST,
        "API__PORT": instance.ports["airflow"],
        "API__BASE_URL": instance.airflow,
        "API__WORKERS": 1,
        "API__SECRET_KEY": instance.secrets["api"],
        "API_AUTH__JWT_SECRET": instance.secrets["jwt"],
        # A changed DAG file is parsed at once, and what commands need as soon as they ask for it. All files each half minute, as
        # is the default, keep a third of a core busy.
        "DAG_PROCESSOR__REFRESH_INTERVAL": 30,
        "DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": 300,
        # A look for work costs some ten queries, and a machine of one person has none most of the time.
        "SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": 3,
        # How soon what was killed is noticed: defaults suit a cluster of many hosts, these one machine.
        "SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": 30,
        "SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": 60,
        "TRIGGERER__JOB_HEARTBEAT_SEC": 2,
        "TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": 8,
        "WORKERS__MIN_HEARTBEAT_INTERVAL": 1,
        # A task that begins while the API server restarts waits for it, for about a minute. By default it would fail after ten
        # seconds, without a log.
        "WORKERS__EXECUTION_API_RETRIES": 30,
        "WORKERS__EXECUTION_API_RETRY_WAIT_MAX": 4,
        "LOGGING__BASE_LOG_FOLDER": folder(instance) / "logs",
        # Lineage is on if the person who starts the stack has set OPENLINEAGE_URL, which all parts inherit.
        "OPENLINEAGE__NAMESPACE": os.environ.get("OPENLINEAGE_NAMESPACE") or NAMESPACE,
        "OPENLINEAGE__EXECUTION_TIMEOUT": 8,
    }
    return {
        "AIRFLOW_HOME": str(folder(instance)),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(
            {"conn_type": "spark", "host": os.environ.get(SPARK_MASTER, f"local[{SPARK_CORES}]")}
        ),
        **{f"AIRFLOW__{key}": str(value) for key, value in settings.items()},
    }


def process_environment(instance: Instance) -> dict[str, str]:
    java_home = str(java.check())
    return {**instance.process_environment(WEBHOOK), **environment(instance), "JAVA_HOME": java_home}


def part(instance: Instance, name: str, variables: dict[str, str]) -> process.Part:
    return process.Part(
        name=name,
        command=[sys.executable, "-m", "airflow", *COMPONENTS[name]],
        environment=variables,
        healthy=lambda: healthy(instance, name),
        prepare=lambda: prepare(instance, variables),
        port=instance.ports["airflow"] if name == "airflow-api-server" else None,
        timeout=180,
        folder=folder(instance),
    )


def health(instance: Instance) -> dict[str, str]:
    """What the API server says about each component: healthy, unhealthy; nothing while it does not answer."""
    try:
        answer = httpx.get(f"{instance.airflow}/api/v2/monitor/health", timeout=5)
        return {name: each["status"] for name, each in answer.json().items()} if answer.is_success else {}
    except (httpx.TransportError, ValueError):
        return {}


def healthy(instance: Instance, name: str) -> bool:
    report = health(instance)
    return bool(report) if name == "airflow-api-server" else report.get(REPORTED[name]) == "healthy"


def prepare(instance: Instance, variables: dict[str, str]) -> None:
    """Write the password file and bring the database to this version's schema, once per version."""
    folder(instance).mkdir(exist_ok=True)
    private.write(folder(instance) / "passwords.json", json.dumps({USER: instance.secrets["password"]}))
    stamp, current = folder(instance) / "migrated", version("apache-airflow")
    if stamp.exists() and stamp.read_text() == current:
        return
    log = process.log_file(instance, "airflow-migrate")
    with log.open("ab") as out:
        migrate = [sys.executable, "-m", "airflow", "db", "migrate"]
        done = subprocess.run(migrate, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    if done.returncode:
        raise StackError(f"airflow db migrate failed:\n{tail(log)}", log=log, remedy="sundial clean, then sundial up")
    stamp.write_text(current)


def start(instance: Instance) -> None:
    """Start the components that do not run and wait until all are healthy."""
    variables = process_environment(instance)
    parts = [part(instance, name, variables) for name in COMPONENTS]
    for each in parts:
        process.start(instance, each)
    for each in parts:
        process.wait(instance, each)
