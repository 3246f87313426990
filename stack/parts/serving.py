"""The process that serves the HTTP API and the dashboard."""

import sys

import httpx

from stack.instance import HOST, ROOT, Instance
from stack.parts import airflow, process

NAME = "serving"
PATIENCE = 10.0  # seconds: on a busy machine, a batch job may have all cores for a while


def part(instance: Instance) -> process.Part:
    port = instance.ports["serving"]
    return process.Part(
        name=NAME,
        command=[sys.executable, "-m", "uvicorn", "serving.app:app", "--host", HOST, "--port", str(port), "--no-access-log"],
        environment=instance.process_environment() | _access(instance),
        healthy=lambda: healthy(instance),
        port=port,
        folder=ROOT,
    )


def _access(instance: Instance) -> dict[str, str]:
    return {
        "SUNDIAL_AIRFLOW": instance.airflow,
        "SUNDIAL_AIRFLOW_USER": airflow.USER,
        "SUNDIAL_AIRFLOW_PASSWORD": instance.secrets["password"],
        "SUNDIAL_USERS": str(instance.users),
        "SUNDIAL_AUDIT_LOG": str(instance.audit_log),
        "SUNDIAL_SESSION_SECRET": instance.secrets["session"],
    }


def healthy(instance: Instance) -> bool:
    try:
        return httpx.get(f"{instance.api}/health", timeout=PATIENCE).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def start(instance: Instance) -> None:
    process.start(instance, part(instance))
    process.wait(instance, part(instance))
