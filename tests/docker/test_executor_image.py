"""The image, and how an executor's pod starts from it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import kubernetes_validate
import pytest

from dags.spark_job import _conf
from stack.install import java
from tests.docker.compose import ROOT, stages
from tests.docker.manifests import (
    EXECUTOR,
    FOLDER,
    KUBERNETES,
    of_kind,
)
from tests.docker.spark_settings import CONFS, JARS, constants, kubernetes_connection, settings, stands_in


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
    spark = settings(CONFS["kubernetes"]) | _conf("STREAM", 3) | {"spark.app.name": "sundial-score"}
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


@pytest.mark.full
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


@pytest.mark.full
def test_the_entrypoint_takes_what_spark_gives(pod, executor):
    (made,) = pod["spec"]["containers"]
    fields = {"status.podIP": "10.1.2.3", "metadata.name": pod["metadata"]["name"]}
    variables = {each["name"]: each.get("value") or fields[each["valueFrom"]["fieldRef"]["fieldPath"]] for each in made["env"]}
    assert GIVEN.keys() <= variables.keys()
    ran = executor(variables | HOME, *made["args"])
    assert ran.returncode == 0, ran.stderr
    arguments = json.loads(ran.stdout)
    jars = f"{_conf('STREAM', 3)['spark.executor.extraClassPath']}:/spark/jars/*"
    assert arguments[arguments.index(BACKEND) - 3 : arguments.index(BACKEND)] == ["-Xmx2048m", "-cp", jars]
    options = arguments[: arguments.index("-Xmx2048m")]
    assert {"-Dspark.authenticate=true", "-Dspark.network.crypto.enabled=true", "-Dspark.driver.port=41234"} <= set(options)
    assert arguments[arguments.index("--driver-url") + 1] == GIVEN["SPARK_DRIVER_URL"]
    assert len(variables["_SPARK_AUTH_SECRET"]) == 64, "made for this application"
    assert variables["_SPARK_AUTH_SECRET"] not in ran.stdout
    assert variables["PYTHONPATH"] == str(ROOT)
