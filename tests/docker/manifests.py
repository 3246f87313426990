"""docker/kubernetes as data: its objects, and what of them a container gets to see."""

import base64
import re
import subprocess
from functools import cache
from pathlib import Path

import yaml

from tests.docker.compose import ROOT

FOLDER = ROOT / "docker/kubernetes"
KUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
FILES = sorted(file for file in FOLDER.glob("*.yaml") if file.name != "kustomization.yaml")
OBJECTS: list[dict] = [found for file in FILES for found in yaml.safe_load_all(file.read_text())]
EXECUTOR: dict = yaml.safe_load((FOLDER / "spark/executor.yaml").read_text())
WORKLOADS = {found["metadata"]["name"]: found for found in OBJECTS if found["kind"] in ("Deployment", "StatefulSet", "Job")}
PODS = {name: workload["spec"]["template"] for name, workload in WORKLOADS.items()}
KUBERNETES = "1.34.0"
DRIVERS = {"airflow-scheduler", "airflow-triggerer"}
SERVERS = {"airflow-api-server": 8080, "serving": 8000, "spark-history": 18080}
SECRET = re.compile(r"PASSWORD$|SECRET(?!_FILE)|FERNET_KEY|WEBHOOK")
REFERENCE = re.compile(r"\$\(([A-Z0-9_]+)\)")


def of_kind(kind: str) -> dict[str, dict]:
    return {found["metadata"]["name"]: found for found in OBJECTS if found["kind"] == kind}


def container(name: str) -> dict:
    (only,) = PODS[name]["spec"]["containers"]
    return only


@cache
def printed_for(folder: Path) -> str:
    """What docker/kubernetes/secrets.sh prints of what docker/secrets.sh has made in that folder."""
    ran = subprocess.run([FOLDER / "secrets.sh", folder], check=True, capture_output=True, text=True)
    return ran.stdout


def secrets_of(folder: Path) -> dict[str, dict[str, str]]:
    """Secrets by name, with their values in plain text."""
    found = [each for each in yaml.safe_load_all(printed_for(folder)) if each["kind"] == "Secret"]
    return {each["metadata"]["name"]: {k: base64.b64decode(v).decode() for k, v in each["data"].items()} for each in found}


def environment(one: dict, secrets: dict[str, dict[str, str]]) -> dict[str, str]:
    """A container's variables as the kubelet makes them: by reference first, then one by one, each seeing those before it."""
    maps = of_kind("ConfigMap")
    seen: dict[str, str] = {}
    for source in one.get("envFrom", []):
        if "configMapRef" in source:
            seen |= maps[source["configMapRef"]["name"]]["data"]
        else:
            seen |= secrets[source["secretRef"]["name"]]
    for variable in one.get("env", []):
        origin = variable.get("valueFrom", {})
        if "configMapKeyRef" in origin:
            value = maps[origin["configMapKeyRef"]["name"]]["data"][origin["configMapKeyRef"]["key"]]
        elif origin:
            value = f"<{origin['fieldRef']['fieldPath']}>"
        else:
            value = REFERENCE.sub(lambda found: seen[found[1]], variable["value"])
        seen[variable["name"]] = value
    return seen


def claims(pod: dict) -> dict[str, str]:
    """Claims by the pod's own names for them."""
    volumes = pod["spec"].get("volumes", [])
    return {each["name"]: each["persistentVolumeClaim"]["claimName"] for each in volumes if "persistentVolumeClaim" in each}
