"""Kafka Streams as a system under test: KafkaStreamsSummaries.java, compiled at its start, and its jars, fetched if need be."""

import os
import subprocess
from pathlib import Path

import psutil
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import OffsetSpec

from bench.metrics import SCHEMA_ID, Job
from bench.platform import REPO, say
from bench.systems import System, size
from contracts import avro
from stack.deploy.cluster import admin
from stack.errors import StackError, tail
from stack.install import jars, java
from stack.install.setup import VENV
from stack.instance import JARS, Instance
from stack.parts import process

SOURCE = REPO / "bench/KafkaStreamsSummaries.java"
MAIN = SOURCE.stem
REPARTITION = "-repartition"
# Threads as there are cores; commits, and so outputs, each second instead of each half minute; the cache is Kafka's default.
SETTINGS = {"threads": 2, "commit.interval.ms": 1000, "cache.bytes": 10 << 20, "within.seconds": 60}
GRACE = 60.0  # seconds in which it may commit and close its stores


class KafkaStreams(System):
    """One application of two threads. What it has committed is done, through to its output."""

    name = "kafka-streams"
    jobs = ("summaries", "windows", "join")
    schema_id = SCHEMA_ID

    def __init__(self, instance: Instance, job: Job):
        self._home, self._job = instance, job
        self._folder = instance.path / self.name
        self._state = self._folder / "state"
        self._application = f"kafka-streams-{job.name}"
        self._admin = admin(instance.kafka)

    @property
    def schema(self) -> avro.ParsedSchema:
        return self._job.schema

    def start(self) -> None:
        self._folder.mkdir(exist_ok=True)
        peer = jars.fetch_peer(REPO, VENV, JARS, self.name, say)
        path = os.pathsep.join(str(jar) for folder in (peer, JARS / "kafka") for jar in sorted(folder.glob("*.jar")))
        classes = self._compiled(path)
        part = process.Part(
            name=self._application,
            command=self._command(f"{classes}{os.pathsep}{path}"),
            environment=self._home.process_environment(),
            healthy=self._running,
            folder=self._folder,
        )
        process.start(self._home, part)
        process.wait(self._home, part)

    def stop(self) -> None:
        process.stop(self._home, self._application, GRACE)

    def leader(self) -> psutil.Process:
        found = process.find(self._home, self._application)
        if not found:
            log = process.log_file(self._home, self._application)
            raise StackError(f"Kafka Streams ended; the last lines of its log:\n{tail(log)}", log=log)
        return found

    def lag(self) -> int:
        """Records of its inputs and of its repartition topic that it has not committed."""
        wanted = [ConsumerGroupTopicPartitions(self._application)]
        (answer,) = self._admin.list_consumer_group_offsets(wanted).values()
        committed = {(each.topic, each.partition): max(each.offset, 0) for each in answer.result(30).topic_partitions}
        # Asked for afterwards: a commit comes after the records that it has led to.
        ends = self._admin.list_offsets({TopicPartition(*each): OffsetSpec.latest() for each in self._read()})
        return sum(end.result(30).offset - committed.get((each.topic, each.partition), 0) for each, end in ends.items())

    def state_mb(self) -> float:
        """What its stores take on the disk."""
        return sum(size(Path(folder) / file) for folder, _, files in os.walk(self._state) for file in files) / 1e6

    def _read(self) -> list[tuple[str, int]]:
        topics = self._admin.list_topics(timeout=30).topics.items()
        own = {name: topic for name, topic in topics if name.startswith(self._application) and name.endswith(REPARTITION)}
        read = own | {name: topic for name, topic in topics if name in self._job.inputs}
        return [(name, partition) for name, topic in read.items() for partition in topic.partitions]

    def _running(self) -> bool:
        log = process.log_file(self._home, self._application)
        states = [line for line in log.read_text(errors="replace").splitlines() if line.startswith("state ")]
        return bool(states) and states[-1] == "state RUNNING"

    def _compiled(self, path: str) -> Path:
        """Compiled in a process of its own, so that the compiler's memory does not count."""
        target = self._folder / "classes"
        compiler = [str(java.binary()), "--module", "jdk.compiler/com.sun.tools.javac.Main"]
        done = subprocess.run([*compiler, "-cp", path, "-d", target, SOURCE], capture_output=True, text=True)
        if done.returncode:
            raise StackError(
                f"{SOURCE.name} was not compiled:\n{done.stdout}{done.stderr}", remedy="it takes a JDK, not just a JRE"
            )
        return target

    def _command(self, path: str) -> list[str]:
        job = self._job
        options = SETTINGS | {
            "mode": job.name,
            "bootstrap": self._home.kafka,
            "state": self._state,
            "input": job.inputs[0],
            "other": job.inputs[-1],
            "output": job.output,
            "schema": SCHEMA_ID,
            "output.schema": SCHEMA_ID + 1,
            "grace.seconds": job.grace_seconds,
        }
        logging = f"-Dlog4j2.configurationFile={REPO / 'docker/kafka/log4j2.properties'}"
        temporary = f"-Djava.io.tmpdir={self._folder}"  # where RocksDB unpacks its library
        arguments = [f"{name}={value}" for name, value in options.items()]
        return [str(java.binary()), "-Xmx1g", logging, temporary, "-cp", path, MAIN, *arguments]
