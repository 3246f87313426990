"""The compose file's Spark, run natively by its own commands and settings: a master, a worker, and a driver in client mode."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from stack.install import java
from stack.instance import HOST, JARS, free_ports
from supervision.spark_history import application_in, page
from tests.docker.compose import ROOT, SERVICES, filled

SETTINGS = ROOT / "docker/spark"


pytestmark = [pytest.mark.parts, pytest.mark.full]


@pytest.fixture
def folder(tmp_path) -> Path:
    """With a copy of the settings, in which the image's folder is the repository."""
    (tmp_path / "conf").mkdir()
    for file in SETTINGS.iterdir():
        (tmp_path / "conf" / file.name).write_text(file.read_text().replace("/opt/sundial", str(ROOT)))
    return tmp_path


@pytest.fixture
def environment(folder) -> dict[str, str]:
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{java.binary().parent}{os.pathsep}{os.environ['PATH']}"
    own = filled(SERVICES["spark-worker-1"]["environment"], {"SPARK_SECRET": "the cluster's secret"})
    python = {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    return {"PATH": binaries, "HOME": os.environ["HOME"], "SPARK_CONF_DIR": str(folder / "conf"), **own, **python} | {
        "SPARK_LOCAL_HOSTNAME": "localhost"
    }


@pytest.fixture
def master(folder, environment) -> Iterator[str]:
    """The address of a master that has a worker; both serve Prometheus."""
    port, page, worker_page = free_ports(3)
    places = {"spark-master": "localhost", "7077": str(port), "8080": str(page), "8081": str(worker_page)}
    places |= {"/var/lib/spark": str(folder / "work"), "spark://spark-master:7077": f"spark://localhost:{port}"}
    processes = []
    try:
        for name in ("spark-master", "spark-worker-1"):
            command = [places.get(part, part) for part in SERVICES[name]["command"]]
            with (folder / f"{name}.log").open("wb") as log:
                processes.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
            until(lambda: json_of(page), folder)  # a worker waits for its master, here as there
        until(lambda: json_of(page).get("aliveworkers") == 1, folder)
        assert (
            "metrics_master_aliveWorkers_Value"
            in httpx.get(f"http://localhost:{page}/metrics/master/prometheus/", timeout=60).text
        )
        assert (
            "metrics_worker_coresFree_Value" in httpx.get(f"http://localhost:{worker_page}/metrics/prometheus/", timeout=60).text
        )
        yield f"spark://localhost:{port}"
    finally:
        for process in reversed(processes):
            process.terminate()  # a worker ends its executors
            process.wait(20)


def json_of(page: int) -> dict:
    try:
        return httpx.get(f"http://localhost:{page}/json/", timeout=60).json()
    except (httpx.TransportError, json.JSONDecodeError):
        return {}


def until(holds, folder: Path, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        logs = "".join(file.read_text()[-2000:] for file in folder.glob("*.log"))
        assert time.monotonic() < deadline, f"not there after {seconds} s\n{logs}"
        time.sleep(0.3)


def test_a_driver_with_the_secret_runs_its_tasks_on_the_worker(master, folder, environment):
    (folder / "events").mkdir()
    places = {"SUNDIAL_KAFKA": f"{HOST}:1", "SUNDIAL_REGISTRY": f"http://{HOST}:1", "SUNDIAL_JARS": str(JARS / "spark")}
    places |= {"SUNDIAL_SPARK_EVENTS": f"file://{folder / 'events'}"}
    places |= {"SUNDIAL_LAKE": str(folder / "lake"), "SUNDIAL_STREAMS": str(folder / "streams")}
    conf = {f"spark.{side}.extraClassPath": f"{JARS / 'spark'}/*" for side in ("driver", "executor")}
    conf |= {"spark.driver.memory": "512m", "spark.executor.memory": "512m"}
    options = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    ran = subprocess.run(
        ["spark-submit", "--master", master, *options, str(Path(__file__).parent / "cluster_job.py")],
        env=environment | places,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    listed = " ".join(" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))
    assert "org.apache.spark.deploy.worker.Worker" in listed
    assert "the cluster's secret" not in listed
    assert f"ran in {folder / 'work'}/app-" in ran.stdout
    assert "rows 10" in ran.stdout
    assert "the cluster's secret" not in ran.stdout + ran.stderr
    [application] = filter(None, map(application_in, ran.stdout.splitlines()))
    with history(folder, environment) as address:
        shown = httpx.get(page(address, application), follow_redirects=True, timeout=60)
        assert (shown.status_code, "cluster - Spark Jobs" in shown.text) == (200, True), shown.text[:500]
        told = httpx.get(f"{address}/api/v1/applications/{application}/environment", timeout=60).text
    assert "the cluster's secret" not in told
    assert "spark.authenticate.secret" in told, "Spark keeps it back by its name"


@contextmanager
def history(folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """The address of the compose file's history server, over the folder's events."""
    service, [port] = SERVICES["spark-history"], free_ports(1)
    options = service["environment"]["SPARK_HISTORY_OPTS"].replace("18080", str(port))
    options = options.replace("/var/lib/spark-events", str(folder / "events"))
    with (folder / "spark-history.log").open("wb") as log:
        settings = {"SPARK_HISTORY_OPTS": options, "SPARK_LOCAL_IP": HOST}
        process = subprocess.Popen(service["command"], env=environment | settings, stdout=log, stderr=log)
    try:
        until(lambda: answers(f"http://{HOST}:{port}/api/v1/applications"), folder)
        yield f"http://{HOST}:{port}"
    finally:
        process.terminate()
        process.wait(20)


def answers(url: str) -> bool:
    """With something in its list."""
    try:
        return bool(httpx.get(url, timeout=60).json())
    except (httpx.TransportError, json.JSONDecodeError):
        return False
