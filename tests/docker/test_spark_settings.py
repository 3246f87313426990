"""The settings for Kubernetes and YARN, without either: known to Spark, and what a submit makes of them."""

import re
from pathlib import Path
from unittest.mock import Mock

import pytest
from airflow.sdk.exceptions import AirflowException

from contracts.feeds import FEEDS, load_feed
from dags.spark_job import _conf, spark_job, stream_command
from tests.docker.compose import ROOT, stages
from tests.docker.manifests import (
    DRIVERS,
    EXECUTOR,
    KUSTOMIZATION,
    claims,
    container,
    environment,
    secrets_of,
)
from tests.docker.spark_settings import CONFS, constants, kubernetes_connection, settings, stands_in

DECLARED_IN = re.compile(r"org/apache/spark/(internal/config/|deploy/k8s/Config|deploy/yarn/config/)[^/]*\.class")
PREFIXES = {"spark.executorEnv.": "org/apache/spark/SparkConf.class"}  # each followed by a variable's name
PREFIXES["spark.yarn.appMasterEnv."] = "org/apache/spark/deploy/yarn/Client.class"


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
    assert not settings(CONFS[where]).keys() & _conf("STREAM", 4).keys()
    assert settings(CONFS[where])["spark.authenticate"] == settings(CONFS[where])["spark.network.crypto.enabled"] == "true"
    options = settings(CONFS[where])["spark.executor.extraJavaOptions"]
    assert options == settings(ROOT / "docker/spark/spark-defaults.conf")["spark.executor.extraJavaOptions"]


@pytest.mark.parametrize("where", CONFS)
def test_a_stream_of_any_feed_finds_its_cores(where):
    spark = settings(CONFS[where])
    cores = int(spark["spark.executor.instances"]) * int(spark["spark.executor.cores"])
    for file in FEEDS.glob("*.yaml"):
        assert load_feed(file.stem).partitions * 2 <= cores, file.stem


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


@pytest.fixture
def submit(monkeypatch):
    """The command line that a connection makes of a stream's submit; a batch task's hook takes the connection too."""

    def command(connection: str, provider: object = None) -> list[str]:
        from airflow.providers.apache.spark.hooks import spark_submit

        if provider:  # the image sundial-kubernetes has it
            monkeypatch.setattr(spark_submit, "kube_client", provider, raising=False)
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", connection)
        monkeypatch.setenv("SUNDIAL_KAFKA", "kafka:9093")
        monkeypatch.setenv("SUNDIAL_STREAMS", "/streams")
        made = stream_command("score", "service-use")
        batch = spark_job("archive", "world-cup")._get_hook()._build_spark_submit_command("archive.py")
        assert batch[: batch.index("--conf")] == made[: made.index("--conf")]
        return made

    return command


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
