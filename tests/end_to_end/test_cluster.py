"""The nightly DAG and a stream on a real Spark standalone master with two workers: another connection, nothing else."""

import datetime as dt
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

from bench.platform import promote_large_baseline
from contracts.feeds import Feed, load_feed
from sources.readings import batch
from sources.replay import play
from sources.simulator import Simulation
from stack.install import java
from stack.instance import HOST, Instance, free_ports
from stack.parts import lifecycle
from stack.parts.airflow_api import AirflowApi
from stack.parts.dag_run import watch
from supervision.files import StreamFolder
from supervision.status import read_status
from tests.support import topics
from tests.support.waiting import until

pytestmark = [pytest.mark.timeout(900), pytest.mark.full, pytest.mark.parts]
FEED = load_feed("road-traffic")
CORES = 4  # of each worker
DAYS = 36
LARGEST_TASK = "spark.rpc.message.maxSize 8"  # MB; 128 by default, but then it takes a baseline of 400 MB to reach it


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
def instance(cluster, tmp_path_factory) -> Iterator[Instance]:
    """A whole stack whose connection names the cluster."""
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("SUNDIAL_SPARK_MASTER", cluster.url)
        (folder := tmp_path_factory.mktemp("conf")).joinpath("spark-defaults.conf").write_text(f"{LARGEST_TASK}\n")
        patch.setenv("SPARK_CONF_DIR", str(folder))
        made = Instance(tmp_path_factory.mktemp("on-cluster")).make(base=0)
        stack.callback(lifecycle.down, made, lambda _: None)
        lifecycle.up(made, lambda _: None)
        yield made


def alive_workers(cluster: Cluster) -> int:
    try:
        return cluster.state()["aliveworkers"]
    except (httpx.TransportError, ValueError):  # its page comes up in parts
        return 0


def send(instance: Instance, readings: Iterable[pa.RecordBatch], feed: Feed = FEED) -> None:
    assert play(readings, feed, kafka=instance.kafka, registry=instance.registry).failed == 0


def test_a_night_and_a_stream_run_on_the_clusters_workers(cluster, instance):
    hour = int(dt.datetime.now(dt.UTC).replace(minute=0, second=0, microsecond=0).timestamp() * 1000)
    send(instance, Simulation(FEED, ["I-94"], 7).readings(hour - DAYS * 86_400_000, hour))
    api, nightly = AirflowApi(instance), f"nightly_baseline.{FEED.name}"
    watch(api, nightly, api.start(nightly), print, 600)
    rows = deltalake.DeltaTable(str(instance.lake / "baseline" / FEED.table)).to_pyarrow_table(columns=["DayType", "Last4Avg"])
    assert sorted(rows.column("DayType").to_pylist()) == [1, 2, 3, 4, 5, 6, 7]
    done = {each["name"]: each for each in cluster.state()["completedapps"]}
    assert {f"{job} {FEED.name}" for job in ("archive", "build_baseline", "check_baseline")} <= done.keys()

    api.unpause(f"supervise_streams.{FEED.name}")
    folder = StreamFolder.of(instance.streams, FEED.name, "score")
    until("the stream", lambda: read_status(folder).state == "running", 240)
    assert read_status(folder).heartbeat["baseline_version"] >= 0
    send(instance, [batch(pa.array(["I-94"]), np.array([hour]), np.array([1_000_000]))])
    anomalies = until("the anomaly", lambda: topics.consume(instance.kafka, FEED.anomalies_topic), 120)
    keys = [message.key() for message in anomalies]
    assert keys == [b"I-94|%d" % hour]
    [stream] = cluster.state()["activeapps"]
    assert (stream["name"], stream["cores"]) == (f"{FEED.name}.score", FEED.partitions + 1)
    used = [worker["coresused"] for worker in cluster.state()["workers"]]
    assert sum(used) == FEED.partitions + 1


def test_a_large_baseline_reaches_the_workers_in_tasks_that_spark_takes(instance):
    """Each of its day types is larger than Spark lets a task be."""
    feed, services = load_feed("service-use"), [f"service-{number}" for number in range(300)]
    promote_large_baseline(instance, feed, services)
    AirflowApi(instance).unpause(f"supervise_streams.{feed.name}")
    folder = StreamFolder.of(instance.streams, feed.name, "score")
    until("the stream", lambda: read_status(folder).state == "running", 240, lambda: folder.log.read_text()[-3000:])
    assert read_status(folder).heartbeat["baseline_version"] == 0
    at, some = int(time.time()) // 10 * 10_000, services[::100]
    send(instance, [batch(some, [at] * len(some), [1_000_000] * len(some))], feed)
    keys = {f"{service}|{at}".encode() for service in some}
    until("the anomalies", lambda: {each.key() for each in topics.consume(instance.kafka, feed.anomalies_topic)} == keys, 120)
