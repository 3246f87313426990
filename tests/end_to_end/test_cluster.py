"""The nightly DAG and a stream on a real Spark standalone master with two workers: another connection, nothing else."""

import datetime as dt
import json
import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import deltalake
import httpx
import numpy as np
import pyarrow as pa
import pyspark
import pytest
from confluent_kafka import Consumer

from contracts.feeds import load_feed
from contracts.run_state import observe
from sources.readings import batch
from sources.replay import play
from sources.simulator import Simulation
from stack import java, lifecycle
from stack.airflow_api import AirflowApi
from stack.home import HOST, Home, free_ports

pytestmark = pytest.mark.timeout(900)
FEED = load_feed("road-traffic")
CORES = 4  # of each worker
DAYS = 36


class Cluster:
    """A master and its workers as processes of the test; `.url` for the connection, `.state()` as the master's page tells it."""

    def __init__(self, folder: Path, workers: int):
        self.folder, port, self.page = folder, *free_ports(2)
        self.url = f"spark://{HOST}:{port}"
        self.processes = [self._start("master.Master", "--port", str(port), "--webui-port", str(self.page))]
        common = ["--cores", str(CORES), "--memory", "5g", "--webui-port", "0", "--work-dir", str(folder / "work")]
        self.processes += [self._start("worker.Worker", *common, self.url) for _ in range(workers)]

    def _start(self, main: str, *arguments: str) -> subprocess.Popen:
        spark = Path(pyspark.__file__).parent
        command = [
            str(java.binary()),
            "-Xmx256m",
            "-cp",
            f"{spark / 'jars'}/*",
            f"org.apache.spark.deploy.{main}",
            "--host",
            HOST,
            *arguments,
        ]
        environment = {"PATH": os.environ["PATH"], "SPARK_LOCAL_IP": HOST, "SPARK_HOME": str(spark)}
        environment["SPARK_SCALA_VERSION"] = "2.13"  # as sbin/start-worker.sh finds out; pip's Spark has no sbin
        with (self.folder / f"{main}.log").open("ab") as log:
            return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def state(self) -> dict:
        return httpx.get(f"http://{HOST}:{self.page}/json/", timeout=10).json()

    def stop(self) -> None:
        for each in reversed(self.processes):
            each.terminate()
        for each in self.processes:
            each.wait(20)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    started = Cluster(tmp_path_factory.mktemp("cluster"), workers=2)
    try:
        until("two workers", lambda: started.processes[0].poll() is None and alive_workers(started) == 2, 60)
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="module")
def home(cluster, tmp_path_factory) -> Iterator[Home]:
    """A whole stack whose connection names the cluster."""
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("SUNDIAL_SPARK_MASTER", cluster.url)
        made = Home(tmp_path_factory.mktemp("on-cluster")).make(base=0)
        stack.callback(lifecycle.down, made, lambda _: None)
        lifecycle.up(made, lambda _: None)
        yield made


def alive_workers(cluster: Cluster) -> int:
    try:
        return cluster.state()["aliveworkers"]
    except (httpx.TransportError, ValueError):  # its page comes up in parts
        return 0


def until(what: str, holds, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:.0f} s"
        time.sleep(0.5)


def send(home: Home, readings: Iterable[pa.RecordBatch]) -> None:
    assert play(readings, FEED, kafka=home.kafka, registry=home.registry).failed == 0


def test_a_night_and_a_stream_run_on_the_clusters_workers(cluster, home):
    hour = int(dt.datetime.now(dt.UTC).replace(minute=0, second=0, microsecond=0).timestamp() * 1000)
    send(home, Simulation(FEED, ["I-94"], 7).readings(hour - DAYS * 86_400_000, hour))
    api, nightly = AirflowApi(home), f"nightly_baseline.{FEED.name}"
    api.unpause(nightly)
    api.watch(nightly, api.begin(nightly, {}), print, 600)
    rows = deltalake.DeltaTable(str(home.lake / "baseline" / FEED.table)).to_pyarrow_table(columns=["DayType", "Last4Avg"])
    assert sorted(rows.column("DayType").to_pylist()) == [1, 2, 3, 4, 5, 6, 7]
    done = {each["name"]: each for each in cluster.state()["completedapps"]}
    assert {f"{job} {FEED.name}" for job in ("archive", "build_baseline", "check_baseline")} <= done.keys()

    api.call("POST", "variables", json={"key": "sundial_feeds", "value": json.dumps([FEED.name])})
    api.unpause("supervise_streams")
    folder = home.streams / f"{FEED.name}.score"
    until("the stream", lambda: observe(folder).state == "running", 240)
    assert observe(folder).heartbeat["baseline_version"] >= 0
    send(home, [batch(pa.array(["I-94"]), np.array([hour]), np.array([1_000_000]))])
    consumer = Consumer({"bootstrap.servers": home.kafka, "group.id": "test", "auto.offset.reset": "earliest"})
    consumer.subscribe([FEED.anomalies_topic])
    keys = []
    until("the anomaly", lambda: keys.extend(m.key() for m in consumer.consume(10, timeout=1)) or keys, 60)
    consumer.close()
    assert keys == [b"I-94|%d" % hour]
    [stream] = cluster.state()["activeapps"]
    assert (stream["name"], stream["cores"]) == (f"{FEED.name}.score", FEED.partitions + 1)
    used = [worker["coresused"] for worker in cluster.state()["workers"]]
    assert sum(used) == FEED.partitions + 1
