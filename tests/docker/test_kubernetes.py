"""The manifests for Kubernetes and the settings for YARN, without either: by Kubernetes' schemas, and beside the compose file."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import urlsplit

import kubernetes_validate
import pytest
import yaml
from airflow.sdk.exceptions import AirflowException

from contracts.feeds import FEEDS, load_feed
from dags.spark_job import _conf, spark_job, stream_command
from stack import java
from tests.docker.compose import ROOT, SERVICES, filled, secrets, stages
from tests.docker.manifests import (
    EXECUTOR,
    FILES,
    FOLDER,
    KUSTOMIZATION,
    OBJECTS,
    PODS,
    WORKLOADS,
    claims,
    container,
    environment,
    of_kind,
    printed_for,
    secrets_of,
)

KUBERNETES = "1.34.0"
DRIVERS = {"airflow-scheduler", "airflow-triggerer"}
SERVERS = {"airflow-api-server": 8080, "serving": 8000, "spark-history": 18080}
ALL_PODS = PODS | {"executor": EXECUTOR}
CONFS = {"kubernetes": FOLDER / "spark/spark-defaults.conf", "yarn": ROOT / "docker/yarn/spark-defaults.conf"}
SECRET = re.compile(r"PASSWORD$|SECRET|FERNET_KEY|WEBHOOK")
every_pod = pytest.mark.parametrize("name", ALL_PODS)
every_workload = pytest.mark.parametrize("name", WORKLOADS)


def settings(file: Path) -> dict[str, str]:
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    pairs = [line.split(None, 1) for line in lines]
    assert len({key for key, _ in pairs}) == len(pairs), "a key stands there twice"
    return {key: value.strip() for key, value in pairs}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("secrets")
    secrets(made)
    return made


# -- the manifests


def identified(found: dict) -> str:
    return f"{found['kind']}-{found.get('metadata', {}).get('name', 'executor')}"


@pytest.mark.parametrize("found", [*OBJECTS, EXECUTOR], ids=identified)
def test_a_manifest_is_as_kubernetes_wants_it(found):
    kubernetes_validate.validate(found, KUBERNETES, strict=True)


def test_the_printed_secrets_are_as_kubernetes_wants_them(folder):
    for found in yaml.safe_load_all(printed_for(folder)):
        kubernetes_validate.validate(found, KUBERNETES, strict=True)
        assert found["metadata"]["namespace"] == KUSTOMIZATION["namespace"]


def test_the_kustomization_names_exactly_the_files_that_are_there():
    assert sorted(KUSTOMIZATION["resources"]) == [file.name for file in FILES]
    assert len({identified(found) for found in OBJECTS}) == len(OBJECTS)
    (generated,) = KUSTOMIZATION["configMapGenerator"]
    assert sorted(generated["files"]) == sorted(f"spark/{file.name}" for file in (FOLDER / "spark").iterdir())
    assert KUSTOMIZATION["generatorOptions"] == {"disableNameSuffixHash": True}
    assert KUSTOMIZATION["namespace"] in of_kind("Namespace")
    others = {"kustomization.yaml", "entrypoint.sh", "secrets.sh", "spark", *(file.name for file in FILES)}
    assert {file.name for file in FOLDER.iterdir()} == others


@pytest.mark.skipif(not shutil.which("kubectl"), reason="there is no kubectl")
def test_kustomize_builds_it(tmp_path):
    command = ["kubectl", "kustomize", FOLDER]
    ran = subprocess.run(command, env=os.environ | {"HOME": str(tmp_path)}, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    built = list(yaml.safe_load_all(ran.stdout))
    assert len(built) == len(OBJECTS) + 1
    for found in built:
        kubernetes_validate.validate(found, KUBERNETES, strict=True)
        assert found["kind"] == "Namespace" or found["metadata"]["namespace"] == "sundial"
    (spark,) = [found for found in built if found["metadata"]["name"] == "spark"]
    assert spark["data"] == {file.name: file.read_text() for file in (FOLDER / "spark").iterdir()}
    images = re.findall(r"image: (\S+)", ran.stdout)
    assert {image.split("/")[0] for image in images} == {"registry.example"}


def test_all_parts_are_there():
    left_out = {"init-kafka", "sources", "postgres", "prometheus", "grafana"}  # taken as given, or run from elsewhere
    left_out |= {name for name in SERVICES if name.startswith(("kafka-", "registry-", "spark-master", "spark-worker-"))}
    assert SERVICES.keys() - left_out == WORKLOADS.keys()
    assert {name for name, found in WORKLOADS.items() if found["kind"] == "StatefulSet"} == DRIVERS
    assert WORKLOADS["init"]["kind"] == "Job"
    assert WORKLOADS["airflow-triggerer"]["spec"]["replicas"] == 1


# -- what a pod may do


@every_pod
def test_a_pod_may_do_little(name):
    spec = ALL_PODS[name]["spec"]
    assert not {"hostNetwork", "hostPID", "hostIPC", "hostUsers", "hostAliases"} & spec.keys()
    uid, gid = (int(stages()["sundial"].of("ARG")[position].split("=")[1]) for position in (0, 1))
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": uid,  # the image's, as Java asks who it is
        "runAsGroup": gid,
        "fsGroup": gid,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    for each in spec["containers"] + spec.get("initContainers", []):
        assert each["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"name": "tmp", "mountPath": "/tmp"} in each["volumeMounts"]
    assert all({"emptyDir", "configMap", "persistentVolumeClaim"} & volume.keys() for volume in spec["volumes"])


@every_pod
def test_only_a_pod_with_a_driver_talks_to_kubernetes(name):
    spec = ALL_PODS[name]["spec"]
    assert spec["automountServiceAccountToken"] is (name in DRIVERS)
    assert spec["serviceAccountName"] == ("sundial-driver" if name in DRIVERS else "sundial")
    assert spec["enableServiceLinks"] is False, "a variable for each Service would be among its settings"
    assert of_kind("ServiceAccount")[spec["serviceAccountName"]]["automountServiceAccountToken"] is False


def test_a_driver_may_handle_pods_and_nothing_else():
    """Spark asks for more where it makes configmaps, services and claims; each of them is turned off."""
    (role,), (binding,) = of_kind("Role").values(), of_kind("RoleBinding").values()
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "delete", "deletecollection", "get", "list", "watch"]}
    ]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "sundial-driver", "namespace": "sundial"}]
    spark = settings(CONFS["kubernetes"])
    assert spark["spark.kubernetes.executor.disableConfigMap"] == "true"
    assert spark["spark.kubernetes.driver.service.deleteOnTermination"] == "false"
    assert spark["spark.kubernetes.driver.ownPersistentVolumeClaim"] == "false"
    assert not {found["kind"] for found in OBJECTS} & {"ClusterRole", "ClusterRoleBinding"}


def test_the_cluster_refuses_what_may_more():
    labels = of_kind("Namespace")["sundial"]["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    (policy,) = of_kind("NetworkPolicy").values()
    assert policy["spec"] == {
        "podSelector": {},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"podSelector": {}}]}],
    }


# -- no secrets


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
    found, made = secrets_of(folder), secrets(folder)
    assert found.keys() == referred
    assert found["airflow"]["AIRFLOW_DATABASE_PASSWORD"] == made["POSTGRES_PASSWORD"]
    assert found["airflow"]["SUNDIAL_ALERT_WEBHOOK"] == ""
    given = {value for secret in found.values() for value in secret.values()}
    assert not {made[f"KAFKA_{name}_PASSWORD"] for name in ("ADMIN", "SOURCES", "REGISTRY")} & given
    (authority,) = [each for each in yaml.safe_load_all(printed_for(folder)) if each["kind"] == "ConfigMap"]
    assert authority["metadata"]["name"] == "kafka-ca"
    assert authority["data"] == {"ca.crt": (folder / ".secrets/ca.crt").read_text()}


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


# -- the same as in the compose file


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


# -- what refers to what


def test_services_lead_to_their_pods():
    services = of_kind("Service")
    assert services.keys() == DRIVERS | SERVERS.keys()
    for name, service in services.items():
        (pod,) = [pod for pod in PODS.values() if service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()]
        assert pod is PODS[name]
        assert WORKLOADS[name]["spec"]["selector"]["matchLabels"] == service["spec"]["selector"]
        if name in DRIVERS:
            assert WORKLOADS[name]["spec"]["serviceName"] == name
            assert service["spec"]["clusterIP"] == "None"
            assert service["spec"]["publishNotReadyAddresses"] is True
        else:
            (port,) = service["spec"]["ports"]
            assert (port["port"], port["targetPort"]) == (SERVERS[name], "http")
            assert container(name)["livenessProbe"]["tcpSocket"]["port"] == "http"
    url = urlsplit(of_kind("ConfigMap")["airflow"]["data"]["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"])
    assert url.port == SERVERS[url.hostname]


@every_pod
def test_what_a_pod_refers_to_is_there(name, folder):
    spec = ALL_PODS[name]["spec"]
    maps = {*of_kind("ConfigMap"), *(each["name"] for each in KUSTOMIZATION["configMapGenerator"]), "kafka-ca"}
    assert {volume["configMap"]["name"] for volume in spec["volumes"] if "configMap" in volume} <= maps
    assert set(claims(ALL_PODS[name]).values()) <= of_kind("PersistentVolumeClaim").keys()
    for each in spec["containers"] + spec.get("initContainers", []):
        assert {mount["name"] for mount in each["volumeMounts"]} <= {volume["name"] for volume in spec["volumes"]}
        assert environment(each, secrets_of(folder)) is not None


def test_what_shares_the_streams_is_on_one_node():
    """Their locks are the kernel's."""
    modes = {name: claim["spec"]["accessModes"] for name, claim in of_kind("PersistentVolumeClaim").items()}
    assert modes.pop("streams") == ["ReadWriteOnce"]
    assert set(map(tuple, modes.values())) == {("ReadWriteMany",)}
    for name, pod in PODS.items():
        shares = "streams" in claims(pod).values()
        assert shares is (name in DRIVERS | {"serving"})
        assert ("sundial-streams" in pod["metadata"]["labels"]) is shares
        if shares:
            (rule,) = pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            assert rule["topologyKey"] == "kubernetes.io/hostname"
            assert rule["labelSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()


def test_addresses_are_plainly_to_be_filled_in():
    for value in of_kind("ConfigMap")["addresses"]["data"].values():
        for address in value.split(","):
            host = urlsplit(address if "://" in address else f"//{address}").hostname
            assert host.endswith(".example"), address
    assert of_kind("ConfigMap")["addresses"]["data"].keys() == {
        "SUNDIAL_KAFKA",
        "SUNDIAL_REGISTRY",
        "AIRFLOW_DATABASE",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    }


def test_images_are_pinned_and_the_same_everywhere():
    names = {each["name"]: f"{each['newName']}:{each['newTag']}" for each in KUSTOMIZATION["images"]}
    assert names.keys() == {"sundial", "sundial-kubernetes"} <= stages().keys()
    for name, target in names.items():
        assert re.fullmatch(rf"registry\.example/{name}:\d+\.\d+\.\d+", target)
    for pod in PODS.values():
        for each in pod["spec"]["containers"] + pod["spec"].get("initContainers", []):
            image, version = each["image"].split(":")
            assert names[image].endswith(f"{image}:{version}")
    assert settings(CONFS["kubernetes"])["spark.kubernetes.container.image"] == names["sundial-kubernetes"]


# -- Spark's settings


JARS = Path(sys.prefix) / "lib/python3.11/site-packages/pyspark/jars"
DECLARED_IN = re.compile(r"org/apache/spark/(internal/config/|deploy/k8s/Config|deploy/yarn/config/)[^/]*\.class")
PREFIXES = {"spark.executorEnv.": "org/apache/spark/SparkConf.class"}  # each followed by a variable's name
PREFIXES["spark.yarn.appMasterEnv."] = "org/apache/spark/deploy/yarn/Client.class"


def constants(jar: str, wanted: re.Pattern) -> set[bytes]:
    """Every text that stands in those classes of a jar of Spark's, each with its length before it."""
    (file,) = JARS.glob(f"{jar}_2.13-*.jar")
    with zipfile.ZipFile(file) as archive:
        return {archive.read(name) for name in archive.namelist() if wanted.fullmatch(name)}


def stands_in(text: str, classes: set[bytes]) -> bool:
    entry = b"\x01" + len(text).to_bytes(2, "big") + text.encode()  # a constant of a class file: kind, length, bytes
    return any(entry in each for each in classes)


@pytest.fixture(scope="module")
def declared() -> set[bytes]:
    return set().union(*(constants(jar, DECLARED_IN) for jar in ("spark-core", "spark-kubernetes", "spark-yarn")))


@pytest.mark.parametrize("where", CONFS)
def test_spark_knows_every_setting(where, declared):
    jars = ("spark-core", "spark-yarn")
    for key in settings(CONFS[where]):
        prefix = next(filter(key.startswith, PREFIXES), None)
        if prefix:
            text, classes = prefix, set().union(*(constants(jar, re.compile(re.escape(PREFIXES[prefix]))) for jar in jars))
        else:
            text, classes = key, declared
        assert stands_in(text, classes), f"{key} is no setting of this Spark"


@pytest.mark.parametrize("where", CONFS)
def test_no_setting_is_one_that_the_submit_overrides(where):
    assert not settings(CONFS[where]).keys() & _conf("", 4).keys()
    assert settings(CONFS[where])["spark.authenticate"] == settings(CONFS[where])["spark.network.crypto.enabled"] == "true"
    options = settings(CONFS[where])["spark.executor.extraJavaOptions"]
    assert options == settings(ROOT / "docker/spark/spark-defaults.conf")["spark.executor.extraJavaOptions"]


@pytest.mark.parametrize("where", CONFS)
def test_a_stream_of_any_feed_finds_its_cores(where):
    spark = settings(CONFS[where])
    cores = int(spark["spark.executor.instances"]) * int(spark["spark.executor.cores"])
    for file in FEEDS.glob("*.yaml"):
        assert load_feed(file.stem).partitions + 1 <= cores, file.stem


def test_the_executors_template_and_the_drivers_pod_are_where_the_settings_say(folder):
    spark = settings(CONFS["kubernetes"])
    template = Path(spark["spark.kubernetes.executor.podTemplateFile"])
    assert f"spark/{template.name}" in KUSTOMIZATION["configMapGenerator"][0]["files"]
    assert spark["spark.kubernetes.driver.pod.name"] == "${env:POD_NAME}"
    for name in DRIVERS:
        variables = environment(container(name), secrets_of(folder))
        assert variables["SPARK_CONF_DIR"] == str(template.parent)
        assert variables["POD_NAME"] == "<metadata.name>"
        assert variables["SPARK_LOCAL_HOSTNAME"] == f"<metadata.name>.{name}"
    (executor,) = EXECUTOR["spec"]["containers"]
    assert not {"image", "command", "args", "resources", "env"} & executor.keys(), "Spark's own matter"
    lake = {"name": "lake", "mountPath": stages()["sundial"].env()["SUNDIAL_LAKE"]}
    assert lake in executor["volumeMounts"]
    assert claims(EXECUTOR) == {"lake": "lake"}


# -- connections


@pytest.fixture
def submit(monkeypatch):
    """The command line that a connection makes of a stream's submit; a batch task's hook takes the connection too."""

    def command(connection: str, provider: object = None) -> list[str]:
        from airflow.providers.apache.spark.hooks import spark_submit

        if provider:  # the image sundial-kubernetes has it
            monkeypatch.setattr(spark_submit, "kube_client", provider, raising=False)
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", connection)
        monkeypatch.setenv("SUNDIAL_KAFKA", "kafka:9093")
        made = stream_command("score", "service-use")
        batch = spark_job("archive", "world-cup")._get_hook()._build_spark_submit_command("archive.py")
        assert batch[: batch.index("--conf")] == made[: made.index("--conf")]
        return made

    return command


def kubernetes_connection() -> str:
    return of_kind("ConfigMap")["airflow"]["data"]["AIRFLOW_CONN_SPARK_DEFAULT"]


def test_the_connection_to_kubernetes_makes_a_submit(submit):
    command = submit(kubernetes_connection(), object())
    assert command[:3] == ["spark-submit", "--master", "k8s://https://kubernetes.default.svc:443"]
    assert command[command.index("--deploy-mode") + 1] == "client"
    assert f"spark.kubernetes.namespace={KUSTOMIZATION['namespace']}" in command
    assert "--queue" not in command
    assert command[-3:] == [str(ROOT / "jobs/score.py"), "--feed", "service-use"]


@pytest.mark.parametrize("code", [0, 3])
def test_a_task_on_kubernetes_ends_as_its_driver_does(submit, code, tmp_path, monkeypatch):
    """The provider looks for an exit code in what the driver prints where that runs in a pod of its own; here it must not."""
    submit(kubernetes_connection(), object())
    driver = tmp_path / "spark-submit"
    driver.write_text(f"#!/bin/sh\necho 'the driver says a word'\nexit {code}\n")
    driver.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    job = spark_job("archive", "world-cup")
    if code == 0:
        job.execute({"ti": Mock()})
    else:
        with pytest.raises(AirflowException, match=r"Error code is: 3(.|\n)*the driver says a word"):
            job.execute({"ti": Mock()})


def test_without_the_provider_kubernetes_is_refused(submit, monkeypatch):
    """Why there is the image sundial-kubernetes; the day it is not refused any more, there need not be."""
    from airflow.providers.apache.spark.hooks import spark_submit

    monkeypatch.delattr(spark_submit, "kube_client", raising=False)
    with pytest.raises((RuntimeError, NameError), match="kube"):
        submit(kubernetes_connection())


def test_the_connection_to_yarn_makes_a_submit(submit):
    text = (ROOT / "docker/yarn/connection.json").read_text()
    command = submit(text)
    assert command[:3] == ["spark-submit", "--master", "yarn"]
    assert command[command.index("--queue") + 1] == "sundial"
    assert command[command.index("--deploy-mode") + 1] == "client"
    assert "spark.yarn.appMasterEnv.SUNDIAL_KAFKA=kafka:9093" in command
    assert not [part for part in command if part.startswith("spark.kubernetes")]


# -- the image, and how an executor's pod starts


def test_the_image_installs_only_what_is_locked_and_ends_without_root():
    stage = stages()["sundial-kubernetes"]
    assert stage.base == "sundial"
    (install,) = stage.of("RUN")
    assert "--require-hashes --no-deps -r docker/kubernetes.txt" in install
    assert stage.of("USER") == ["root", "sundial"]
    assert [instruction for instruction, _ in stage.instructions[-2:]] == ["USER", "ENTRYPOINT"]
    assert json.loads(stage.of("ENTRYPOINT")[0]) == ["/opt/sundial/docker/kubernetes/entrypoint.sh"]
    home = Path(stage.env()["SPARK_HOME"]).relative_to("/opt/sundial/.venv")
    assert (Path(sys.prefix) / home / "jars").samefile(JARS)


def test_the_lock_adds_the_provider_to_what_is_locked_already():
    lines = (ROOT / "docker/kubernetes.txt").read_text().splitlines()
    assert all(re.match(r"#|[a-z0-9-]+==[\d.]+ \\|    --hash=sha256:[0-9a-f]{64}( \\)?$", line) for line in lines)
    names = {line.split("==")[0] for line in lines if "==" in line}
    assert {"apache-airflow-providers-cncf-kubernetes", "kubernetes"} <= names
    others = (ROOT / "requirements.txt").read_text() + (ROOT / "docker/postgres.txt").read_text()
    assert not names & set(re.findall(r"^([a-z0-9-]+)(?:\[.*\])?==", others, re.MULTILINE))


@pytest.fixture
def executor(tmp_path):
    """Runs the entrypoint with a java of the test's making, which prints its arguments; returns how it ended."""
    stand_in = tmp_path / "bin/java"
    stand_in.parent.mkdir()
    stand_in.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    stand_in.chmod(0o755)
    path = {"PATH": f"{stand_in.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"}

    def run(variables: dict[str, str], *roles: str) -> subprocess.CompletedProcess:
        command = [FOLDER / "entrypoint.sh", *roles]
        return subprocess.run(command, env=path | variables, cwd=tmp_path, capture_output=True, text=True, timeout=30)

    return run


BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
GIVEN = {  # what Spark gives an executor's pod, beside its options
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@airflow-triggerer-0.airflow-triggerer:41234",
    "SPARK_APPLICATION_ID": "spark-0123456789abcdef",
    "SPARK_EXECUTOR_ID": "1",
    "SPARK_EXECUTOR_CORES": "4",
    "SPARK_EXECUTOR_MEMORY": "2048m",
    "SPARK_EXECUTOR_POD_IP": "10.1.2.3",
    "SPARK_EXECUTOR_POD_NAME": "sundial-score-exec-1",
    "SPARK_RESOURCE_PROFILE_ID": "0",
}
HOME = {"SPARK_HOME": "/spark"}
OPTIONS = {
    "SPARK_JAVA_OPT_0": "-Dfirst=a b",
    "SPARK_JAVA_OPT_10": "-Dlast=$HOME*",
    "SPARK_CLASSPATH": "/opt/sundial/.jars/spark/*",
}
OPTIONS |= {f"SPARK_JAVA_OPT_{number}": f"-Dnumber={number}" for number in range(1, 10)}


def test_an_executor_starts_with_what_spark_says(executor):
    ran = executor(GIVEN | HOME | OPTIONS, "executor")
    assert ran.returncode == 0, ran.stderr
    arguments = json.loads(ran.stdout)
    assert arguments[:11] == ["-Dfirst=a b", *(f"-Dnumber={number}" for number in range(1, 10)), "-Dlast=$HOME*"]
    assert arguments[11:15] == ["-Xmx2048m", "-cp", "/opt/sundial/.jars/spark/*:/spark/jars/*", BACKEND]
    options = arguments[15:]
    assert dict(zip(options[::2], options[1::2], strict=True)) == {
        "--driver-url": GIVEN["SPARK_DRIVER_URL"],
        "--app-id": "spark-0123456789abcdef",
        "--executor-id": "1",
        "--cores": "4",
        "--hostname": "10.1.2.3",
        "--podName": "sundial-score-exec-1",
        "--resourceProfileId": "0",
    }


def test_an_executor_needs_no_options_and_no_other_jars(executor):
    arguments = json.loads(executor(GIVEN | HOME, "executor").stdout)
    assert arguments[:4] == ["-Xmx2048m", "-cp", "/spark/jars/*", BACKEND]


@pytest.mark.parametrize("roles", [(), ("driver",), ("executor", "-x"), ("bash",)], ids=str)
def test_an_unknown_role_is_refused(executor, roles):
    ran = executor(GIVEN | HOME, *roles)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"knows the role 'executor' alone, not '{' '.join(roles)}'" in ran.stderr


@pytest.mark.parametrize("name", GIVEN | HOME)
def test_a_variable_that_is_not_set_is_named(executor, name):
    variables = GIVEN | HOME
    for without in ({key: value for key, value in variables.items() if key != name}, variables | {name: ""}):
        ran = executor(without, "executor")
        assert (ran.returncode, ran.stdout) == (2, "")
        assert f"not set: {name};" in ran.stderr


def test_the_backend_knows_its_options():
    backend = constants("spark-kubernetes", re.compile(re.escape(BACKEND.replace(".", "/")) + r"\$\.class"))
    options = re.findall(r"^  (--[A-Za-z-]+) ", (FOLDER / "entrypoint.sh").read_text(), re.MULTILINE)
    assert len(options) == 7
    for option in options:
        assert stands_in(option, backend), option


@pytest.fixture(scope="module")
def pod() -> dict:
    """What Spark itself makes of the settings and the template for an executor, with no cluster asked."""
    connection = json.loads(kubernetes_connection())
    spark = settings(CONFS["kubernetes"]) | _conf("", 3) | {"spark.app.name": "sundial-score"}
    spark["spark.kubernetes.executor.podTemplateFile"] = str(FOLDER / "spark/executor.yaml")
    spark["spark.master"] = f"{connection['host']}:{connection['port']}"
    spark["spark.kubernetes.namespace"] = connection["extra"]["namespace"]
    spark |= {"spark.driver.host": "airflow-triggerer-0.airflow-triggerer", "spark.driver.port": "41234"}
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{java.binary().parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": binaries, "POD_NAME": "airflow-triggerer-0"}
    command = [sys.executable, ROOT / "tests/docker/executor_pod.py", json.dumps(spark)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr[-2000:]
    made = json.loads(ran.stdout)
    assert made["resources"] == 0, "it would make more than a pod"
    return made["pod"]


def test_the_pod_that_spark_makes_is_as_kubernetes_and_the_namespace_want_it(pod):
    kubernetes_validate.validate(pod, KUBERNETES, strict=True)
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Pod", "airflow-triggerer-0")
    services = [service["spec"]["selector"].items() for service in of_kind("Service").values()]
    assert not [selector for selector in services if selector <= pod["metadata"]["labels"].items()]
    template = EXECUTOR["spec"]
    assert {key: pod["spec"][key] for key in template.keys() - {"containers", "volumes"}} == {
        key: template[key] for key in template.keys() - {"containers", "volumes"}
    }
    (made,), (given,) = pod["spec"]["containers"], template["containers"]
    assert {key: made[key] for key in given.keys() - {"volumeMounts"}} == {
        key: given[key] for key in given.keys() - {"volumeMounts"}
    }
    local = [volume for volume in pod["spec"]["volumes"] if volume not in template["volumes"]]
    assert local == [{"name": "spark-local-dir-1", "emptyDir": {}}], "Spark's own, for shuffles"
    assert "command" not in made, "the image's entrypoint begins it"
    assert made["image"] == settings(CONFS["kubernetes"])["spark.kubernetes.container.image"]
    assert made["resources"] == {
        "requests": {"cpu": "1", "memory": "3072Mi"},
        "limits": {"cpu": "4", "memory": "3072Mi"},
    }


def test_the_entrypoint_takes_what_spark_gives(pod, executor):
    (made,) = pod["spec"]["containers"]
    fields = {"status.podIP": "10.1.2.3", "metadata.name": pod["metadata"]["name"]}
    variables = {each["name"]: each.get("value") or fields[each["valueFrom"]["fieldRef"]["fieldPath"]] for each in made["env"]}
    assert GIVEN.keys() <= variables.keys()
    ran = executor(variables | HOME, *made["args"])
    assert ran.returncode == 0, ran.stderr
    arguments = json.loads(ran.stdout)
    jars = f"{_conf('', 3)['spark.executor.extraClassPath']}:/spark/jars/*"
    assert arguments[arguments.index(BACKEND) - 3 : arguments.index(BACKEND)] == ["-Xmx2048m", "-cp", jars]
    options = arguments[: arguments.index("-Xmx2048m")]
    assert {"-Dspark.authenticate=true", "-Dspark.network.crypto.enabled=true", "-Dspark.driver.port=41234"} <= set(options)
    assert arguments[arguments.index("--driver-url") + 1] == GIVEN["SPARK_DRIVER_URL"]
    assert len(variables["_SPARK_AUTH_SECRET"]) == 64, "made for this application"
    assert variables["_SPARK_AUTH_SECRET"] not in ran.stdout
    assert variables["PYTHONPATH"] == str(ROOT)
