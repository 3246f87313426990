"""Declared queries as a system under test: jobs/run_queries.py on those of bench/queries."""

import os
from contextlib import ExitStack
from pathlib import Path

import psutil
from confluent_kafka.schema_registry import SchemaRegistryClient

from bench.metrics import Job, ends
from bench.platform import REPO, driver, wait_for
from bench.systems import System, size
from contracts import avro
from contracts.queries import load_application
from jobs.streams.checkpoint import Checkpoint
from stack.instance import Instance
from supervision.files import StreamFolder
from supervision.status import read_status

QUERIES = REPO / "bench" / "queries"


class SundialQueries(System):
    """One Spark driver with one query. What it has committed is done, through to its output."""

    name = "sundial"
    jobs = ("summaries", "windows", "join")

    def __init__(self, instance: Instance, job: Job):
        self._home, self._job = instance, job
        self._folder = StreamFolder.of(instance.streams, job.name, "queries")
        [self._query] = load_application(job.name, QUERIES).values()
        newest = SchemaRegistryClient({"url": instance.registry}).get_latest_version(avro.subject(job.inputs[0]))
        self.schema_id = newest.schema_id
        self._running = ExitStack()
        self._process: psutil.Process | None = None

    @property
    def schema(self) -> avro.ParsedSchema:
        return avro.parsed(self._query.outputs[0].record)

    def start(self) -> None:
        run = driver(self._home, REPO / "jobs" / "run_queries.py", "--application", self._job.name, "--queries", str(QUERIES))
        self._process = self._running.enter_context(run)
        wait_for("the query", lambda: read_status(self._folder).state == "running", 120)

    def stop(self) -> None:
        self._running.close()

    def leader(self) -> psutil.Process:
        if not self._process.is_running() or self._process.status() == psutil.STATUS_ZOMBIE:
            raise RuntimeError(f"the driver ended: see {self._home.logs / 'run_queries.log'}")
        return self._process

    def lag(self) -> int:
        done = self._checkpoint.committed()
        came = sum(last for topic in self._job.inputs for _, last in ends(self._home, topic))
        return came - (done or 0)

    def state_mb(self) -> float:
        folder = self._checkpoint.state_folder
        return sum(size(Path(where) / file) for where, _, files in os.walk(folder) for file in files) / 1e6

    @property
    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(self._folder.checkpoint / self._query.name)
