"""A broker, a registry and a large baseline of their own for a benchmark, and figures as JSON lines."""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import deltalake
import numpy as np
import psutil
import pyarrow as pa

from contracts.declarations import Topic
from contracts.declared_topics import declared_topics
from contracts.feeds import Feed
from jobs.streams.checkpoint import Checkpoint
from stack.deploy import schemas, topics
from stack.instance import Instance
from stack.parts import kafka, process, registry
from supervision.files import StreamFolder
from supervision.spark_jvm import COMPILE_ALL, java_options, memory

REPO = Path(__file__).resolve().parent.parent
PROGRAMS = {"sundial": REPO / "jobs" / "score.py", "microbatch": REPO / "bench" / "microbatch.py"}
SERVICES = [f"service-{number:03d}" for number in range(200)]


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def figure(bench: str, system: str, metric: str, values: list[float], unit: str) -> None:
    """Prints the median of the repeats as one JSON line, with the spread beside it."""
    spread = {"min": round(min(values), 3), "max": round(max(values), 3), "n": len(values)}
    line = {"bench": bench, "system": system, "metric": metric, "value": round(statistics.median(values), 3), "unit": unit}
    print(json.dumps(line | spread), flush=True)


@contextlib.contextmanager
def platform(declared: list[Topic] | None = None) -> Iterator[Instance]:
    """Kafka and the registry in a folder and on ports of their own, with these topics and their schemas, or all declared ones."""
    declared = declared_topics() if declared is None else declared
    with tempfile.TemporaryDirectory(prefix="sundial-bench-") as folder:
        instance = Instance(Path(folder)).make(0)
        try:
            kafka.start(instance)
            registry.start(instance)
            topics.deploy(instance.kafka, declared)
            schemas.register(instance.registry, declared)
            yield instance
        finally:
            for name in (registry.NAME, kafka.NAME):
                process.stop(instance, name)


def promote_large_baseline(instance: Instance, feed: Feed, services: Sequence[str] = SERVICES) -> None:
    """A baseline of these services x 7 day types x every slot; averages between 100 and 500. It has a robust normal, equal to the
    averages, if the feed's rule goes by it."""
    numbers = np.random.default_rng(1)
    rows, cells = len(services) * 7, len(services) * 7 * feed.slots

    def packed(values: np.ndarray, length: int = feed.slots) -> pa.Array:
        return pa.ListArray.from_arrays(np.arange(0, len(values) + 1, length, dtype=np.int32), pa.array(values))

    averages = packed(numbers.integers(400, 2000, cells) / 4.0)
    robust = {"Level": averages, "Scale": packed(np.full(cells, 10.0))} if feed.rule.normal == "robust" else {}
    table = pa.table(
        {
            "ServiceName": [service for service in services for _ in range(7)],
            "DayType": pa.array(list(range(1, 8)) * len(services), pa.int32()),
            "Last4Avg": averages,
            "Samples": packed(np.full(cells, 4, dtype=np.int32)),
            "Spread": packed(np.full(rows * feed.spread_windows, 10.0), feed.spread_windows),
            "Growth": np.ones(rows),
            "Dates": pa.array([[]] * rows, pa.list_(pa.date32())),
        }
        | robust
    )
    deltalake.write_deltalake(str(instance.lake / "baseline" / feed.table), table, mode="overwrite", partition_by=["DayType"])


def promote_again(instance: Instance, feed: Feed) -> None:
    """The baseline that is in force, as a new version: a commit that changes no row."""
    table = deltalake.DeltaTable(str(instance.lake / "baseline" / feed.table))
    note = {"candidate_version": table.version(), "run_id": "bench", "by": "bench", "reason": "of the benchmark"}
    properties = deltalake.CommitProperties(custom_metadata={"userMetadata": json.dumps(note)})
    partitions = table.metadata().partition_columns
    table.create_write_transaction([], "append", table.schema(), partitions, commit_properties=properties)


@contextlib.contextmanager
def driver(instance: Instance, script: Path, *arguments: str, repo: Path = REPO) -> Iterator[psutil.Process]:
    """A Spark driver with the settings that the platform gives its streams, stopped at the end. repo: the checkout it runs in."""
    environment = instance.process_environment() | {"PYTHONPATH": str(repo)}
    conf = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": memory(os.environ, "STREAM"),
        "spark.driver.extraClassPath": f"{environment['SUNDIAL_JARS']}/*",
        "spark.driver.defaultJavaOptions": COMPILE_ALL,
        "spark.driver.extraJavaOptions": java_options(environment, "STREAM"),
    }
    command = ["spark-submit", "--master", "local[4]", *(part for pair in conf.items() for part in ("--conf", "=".join(pair)))]
    # The command is looked up in the benchmark's own environment, so by its full path.
    command[0] = str(Path(sys.prefix) / "bin" / command[0])
    with (instance.logs / f"{script.stem}.log").open("ab") as log:
        started = subprocess.Popen(
            [*command, str(script), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield psutil.Process(started.pid)
    finally:
        process.stop_tree(psutil.Process(started.pid)) if started.poll() is None else None
        started.wait(60)


def wait_for(what: str, holds, seconds: float = 180) -> None:
    """Waits until `holds()`; raises TimeoutError naming what did not come."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come within {seconds:.0f} s")
        time.sleep(0.1)


def heartbeat(instance: Instance, feed: Feed) -> dict:
    """The scoring driver's last heartbeat; empty before the first."""
    return StreamFolder.of(instance.streams, feed.name, "score").read_heartbeat()


def cores() -> str:
    load = os.getloadavg()[0]
    return f"{psutil.cpu_count()} cores, load {load:.1f} before the run"


class Others:
    """Cores that processes other than this one and its descendants keep busy: figures taken beside other work tell so."""

    def __init__(self) -> None:
        self._then = self._now()

    def cores(self) -> float:
        """On average since the last call."""
        before, self._then = self._then, self._now()
        return max(0.0, (self._then[1] - before[1]) / (self._then[0] - before[0]))

    def _now(self) -> tuple[float, float]:
        machine, own = psutil.cpu_times(), 0.0
        for each in (psutil.Process(), *psutil.Process().children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                own += sum(each.cpu_times()[:4])  # with that of children that have ended
        return time.monotonic(), sum(machine) - machine.idle - machine.iowait - own


def running(instance: Instance, feed: Feed, system: str) -> Callable[[], bool]:
    """Whether the system's query reads."""
    if system == "sundial":
        return lambda: heartbeat(instance, feed).get("state") == "running"
    return lambda: Checkpoint(instance.streams / f"{feed.name}.microbatch").reached() is not None
