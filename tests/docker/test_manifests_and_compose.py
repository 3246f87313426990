"""The manifests for Kubernetes hold no secret, and give each part what the compose file gives it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.docker.compose import ROOT, SERVICES, filled, secrets
from tests.docker.manifests import (
    DRIVERS,
    FOLDER,
    KUSTOMIZATION,
    PODS,
    SECRET,
    SERVERS,
    WORKLOADS,
    claims,
    container,
    environment,
    of_kind,
    printed_for,
    secrets_of,
)
from tests.docker.spark_settings import CONFS, settings

every_workload = pytest.mark.parametrize("name", WORKLOADS)


def test_no_secret_stands_in_a_manifest():
    assert not of_kind("Secret")
    assert "secretGenerator" not in KUSTOMIZATION
    for found in of_kind("ConfigMap").values():
        assert not [key for key in found["data"] if SECRET.search(key)]
        assert not re.search(r"://[^/\s]*:[^/\s]*@", str(found["data"])), "a password in an address"
    for pod in PODS.values():
        for each in pod["spec"]["containers"] + pod["spec"].get("initContainers", []):
            for variable in each.get("env", []):
                assert not SECRET.search(variable["name"]), variable
                assert re.findall(r"://[^/\s]*:([^/\s]*)@", variable.get("value", "")) in ([], ["$(AIRFLOW_DATABASE_PASSWORD)"])
    for file in CONFS.values():
        assert not [key for key in settings(file) if re.search("secret|password|token", key)]


def test_the_script_prints_what_pods_refer_to_and_nothing_else(folder):
    """Above all not the superuser's password, as whoever may create pods can mount every Secret of the namespace."""
    referred = {
        source["secretRef"]["name"]
        for pod in PODS.values()
        for each in pod["spec"]["containers"] + pod["spec"].get("initContainers", [])
        for source in each.get("envFrom", [])
        if "secretRef" in source
    }
    referred |= {each["secret"]["secretName"] for pod in PODS.values() for each in pod["spec"]["volumes"] if "secret" in each}
    found, made = secrets_of(folder), secrets(folder)
    assert found.keys() == referred
    assert found["airflow"]["AIRFLOW_DATABASE_PASSWORD"] == made["POSTGRES_PASSWORD"]
    assert found["airflow"]["SUNDIAL_ALERT_WEBHOOK"] == found["airflow"]["OPENLINEAGE_API_KEY"] == ""
    assert found["serving-access"] == {
        "SUNDIAL_SESSION_SECRET": made["SUNDIAL_SESSION_SECRET"],
        "SUNDIAL_AIRFLOW_PASSWORD": made["AIRFLOW_PASSWORD"],
    }
    assert found["serving-users"] == {"users.json": (folder / ".secrets/users/users.json").read_text()}
    given = {value for secret in found.values() for value in secret.values()}
    assert not {made[f"KAFKA_{name}_PASSWORD"] for name in ("ADMIN", "SOURCES", "REGISTRY")} & given
    (authority,) = [each for each in yaml.safe_load_all(printed_for(folder)) if each["kind"] == "ConfigMap"]
    assert authority["metadata"]["name"] == "kafka-ca"
    assert authority["data"] == {"ca.crt": (folder / ".secrets/ca.crt").read_text()}


def test_the_secret_of_the_identity_provider_is_printed_if_there_is_one(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / ".secrets/users/oidc-client-secret").write_text("a '\"$ secret\n")
    assert secrets_of(tmp_path)["serving-users"].pop("oidc-client-secret") == "a '\"$ secret\n"
    file = environment(container("serving"), secrets_of(folder))["SUNDIAL_OIDC_CLIENT_SECRET_FILE"]
    (users,) = [each for each in container("serving")["volumeMounts"] if each["name"] == "users"]
    assert file == f"{users['mountPath']}/oidc-client-secret"


def test_any_value_is_printed_as_it_is_and_none_is_forgotten(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    with (tmp_path / ".env").open("a") as file:
        file.write("SUNDIAL_ALERT_WEBHOOK=https://hooks.example/T0/a=b?c='d\" $e\n")
    assert secrets_of(tmp_path)["airflow"]["SUNDIAL_ALERT_WEBHOOK"] == "https://hooks.example/T0/a=b?c='d\" $e"
    lines = (tmp_path / ".env").read_text().splitlines(keepends=True)
    (tmp_path / ".env").write_text("".join(line for line in lines if not line.startswith("KAFKA_BATCH")))
    for message in ("KAFKA_BATCH_PASSWORD is not in", "no .env or no .secrets/ca.crt"):
        ran = subprocess.run([FOLDER / "secrets.sh", tmp_path], capture_output=True, text=True)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert message in ran.stderr
        (tmp_path / ".secrets/ca.crt").unlink(missing_ok=True)


def compose_environment(name: str, folder: Path) -> dict[str, str]:
    return filled(SERVICES[name].get("environment", {}), secrets(folder))


OTHER_VALUES = {"SUNDIAL_KAFKA", "SUNDIAL_REGISTRY", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"}  # addresses
OTHER_VALUES |= {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC"}
OTHER_VALUES |= {"AIRFLOW_CONN_SPARK_DEFAULT", "SPARK_LOCAL_HOSTNAME"}  # where Spark runs, and how it calls back
COMPOSE_ONLY = {"_SPARK_AUTH_SECRET"}  # each application makes its own
PODS_ONLY = {"AIRFLOW_DATABASE", "AIRFLOW_DATABASE_PASSWORD"}  # parts of the address above
DRIVERS_ONLY = {"POD_NAME", "SPARK_CONF_DIR"}


@every_workload
def test_a_pod_gets_what_the_compose_file_gives(name, folder):
    there, here = compose_environment(name, folder), environment(container(name), secrets_of(folder))
    airflow = "AIRFLOW__CORE__EXECUTOR" in there
    assert there.keys() - here.keys() == (COMPOSE_ONLY if name in DRIVERS else set())
    assert here.keys() - there.keys() == (PODS_ONLY if airflow else set()) | (DRIVERS_ONLY if name in DRIVERS else set())
    same = there.keys() & here.keys()
    assert {key: here[key] for key in same - OTHER_VALUES} == {key: there[key] for key in same - OTHER_VALUES}
    assert all(here[key] != there[key] for key in same & OTHER_VALUES), "no difference any more: leave it out of the list"


@every_workload
def test_a_pod_runs_what_the_compose_file_runs(name):
    one, service = container(name), SERVICES[name]
    assert one["command"] == service["command"]
    assert one["image"] == service["image"].replace("sundial:", "sundial-kubernetes:" if name in DRIVERS else "sundial:")
    limits = service["deploy"]["resources"]["limits"]
    assert one["resources"]["limits"] == {"cpu": limits["cpus"], "memory": limits["memory"].upper() + "i"}
    assert one["resources"]["requests"].keys() == {"cpu", "memory"}
    grace = {"1m": 60}.get(service.get("stop_grace_period"), 30)
    assert PODS[name]["spec"]["terminationGracePeriodSeconds"] == grace
    assert PODS[name]["spec"]["shareProcessNamespace"] is service["init"] is True
    if name == "init":
        attempts = int(service["restart"].removeprefix("on-failure:"))
        assert (WORKLOADS[name]["spec"]["backoffLimit"], PODS[name]["spec"]["restartPolicy"]) == (attempts, "OnFailure")
    ports = [port["containerPort"] for port in one.get("ports", [])]
    assert ports == [int(port.rsplit(":")[-1]) for port in service.get("ports", [])]


@every_workload
def test_a_pod_mounts_what_the_compose_file_mounts(name):
    one, pod, service = container(name), PODS[name], SERVICES[name]
    named = [volume.split(":") for volume in service["volumes"] if not volume.startswith(".")]
    there = {(volume, path, *mode) for volume, path, *mode in named}
    mounted = {
        (claims(pod)[each["name"]], each["mountPath"], *(["ro"] if each.get("readOnly") else []))
        for each in one["volumeMounts"]
        if each["name"] in claims(pod)
    }
    assert mounted == there
    maps = {volume["name"]: volume["configMap"]["name"] for volume in pod["spec"]["volumes"] if "configMap" in volume}
    files = {maps[each["name"]]: each["mountPath"] for each in one["volumeMounts"] if each["name"] in maps}
    authority = {"kafka-ca": "/etc/sundial"} if any("ca.crt" in volume for volume in service["volumes"]) else {}
    assert files == authority | ({"spark": "/etc/spark"} if name in DRIVERS else {})
    secret = {volume["name"] for volume in pod["spec"]["volumes"] if "secret" in volume}
    known = [each["mountPath"] for each in one["volumeMounts"] if each["name"] in secret]
    assert known == [volume.split(":")[1] for volume in service["volumes"] if volume.startswith("./.secrets/users")]
    temporary = {volume["name"]: volume["emptyDir"] for volume in pod["spec"]["volumes"] if "emptyDir" in volume}
    sizes = {each["mountPath"]: temporary[each["name"]] for each in one["volumeMounts"] if each["name"] in temporary}
    wanted = dict(re.match(r"([^:]+):.*size=(\d+[mg])", line).groups() for line in service["tmpfs"])
    assert sizes == {path: {"medium": "Memory", "sizeLimit": size.upper() + "i"} for path, size in wanted.items()}


@every_workload
def test_a_pod_is_ready_when_the_compose_file_calls_it_healthy(name):
    one, health = container(name), SERVICES[name]["healthcheck"]
    assert ("livenessProbe" in one) is (name in SERVERS)
    if health.get("disable"):
        assert "readinessProbe" not in one
        return
    probe = one["readinessProbe"]
    assert probe["exec"]["command"] == health["test"][1:]
    assert (f"{probe['periodSeconds']}s", f"{probe['timeoutSeconds']}s") == (health["interval"], health["timeout"])
    assert probe.get("failureThreshold", 3) == health.get("retries", 3)


@every_workload
def test_airflow_waits_for_its_database(name, folder):
    waiting = PODS[name]["spec"].get("initContainers", [])
    if not name.startswith("airflow-"):
        assert waiting == []
        return
    (one,) = waiting
    assert one["image"] == container(name)["image"]
    early, late = environment(one, secrets_of(folder)), environment(container(name), secrets_of(folder))
    assert early.items() <= late.items()
    assert late.keys() - early.keys() <= DRIVERS_ONLY | {"SUNDIAL_KAFKA_USER", "SUNDIAL_KAFKA_PASSWORD", "SPARK_LOCAL_HOSTNAME"}
    from airflow.cli.cli_parser import get_parser

    assert one["command"][:3] == ["python", "-m", "airflow"]
    assert get_parser().parse_args(one["command"][3:])
    script = (ROOT / "docker/init.sh").read_text()
    assert script.index("sundial schemas register") < script.index("passwords.json") < script.index("airflow db migrate")
