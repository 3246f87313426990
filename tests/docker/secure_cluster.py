"""The compose file's three brokers and its registry, run natively with the very same scripts, settings and certificates.

Only addresses, ports and folders differ.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from contracts.kafka_credentials import KafkaCredentials
from stack.install import java
from stack.instance import HOST, JARS, free_ports
from tests.docker.compose import ROOT, SERVICES, filled, secrets, stages


@dataclass
class Cluster:
    """Three brokers and a registry."""

    folder: Path
    secrets: dict[str, str]
    kafka: str
    broker_port: str  # where the first of them listens for the others
    registry: str

    @property
    def ca(self) -> str:
        return str(self.folder / ".secrets/ca.crt")

    def environment(self, user: str) -> dict[str, str]:
        """Of a process that is that user; the addresses are this cluster's."""
        password = self.secrets[f"KAFKA_{user.upper()}_PASSWORD"]
        own = {"SUNDIAL_KAFKA_USER": user, "SUNDIAL_KAFKA_PASSWORD": password, "SUNDIAL_KAFKA_CA": self.ca}
        places = {"SUNDIAL_LAKE": str(self.folder / "lake"), "SUNDIAL_STREAMS": str(self.folder / "streams")}
        addresses = {"SUNDIAL_KAFKA": self.kafka, "SUNDIAL_REGISTRY": self.registry, "SUNDIAL_JARS": str(JARS / "spark")}
        return base() | addresses | places | own

    def credentials(self, user: str) -> KafkaCredentials:
        return KafkaCredentials.from_environment(self.environment(user))

    def client(self, user: str) -> dict[str, str]:
        return self.credentials(user).client_options(self.kafka) | {"log_level": 0}


def base() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{java.binary().parent}{os.pathsep}{os.environ['PATH']}"
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # none of them lives long
    return {
        "JAVA_TOOL_OPTIONS": quick,
        "PATH": path,
        "JAVA_HOME": str(java.check()),
        "HOME": os.environ["HOME"],
        "PYTHONPATH": str(ROOT),
    }


@contextmanager
def running(command: Path, environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen]:
    with log.open("wb") as out:
        process = subprocess.Popen([command], env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        yield process
    finally:
        process.kill()  # nothing of it is wanted any more
        process.wait()


def broker_environments(folder: Path, made: dict[str, str]) -> list[dict[str, str]]:
    """What the compose file gives each broker, at this machine's addresses."""
    ports = [
        dict(zip(("KAFKA_PORT", "KAFKA_BROKER_PORT", "KAFKA_CONTROLLER_PORT"), free_ports(3), strict=True)) for _ in range(3)
    ]
    voters = ",".join(f"{number}@{HOST}:{each['KAFKA_CONTROLLER_PORT']}" for number, each in enumerate(ports, 1))
    environments = []
    for number, numbers in enumerate(ports, 1):
        run = folder / f"kafka-{number}"
        run.mkdir()
        here = {"KAFKA_JARS": JARS / "kafka", "KAFKA_RUN": run, "KAFKA_DATA": run / "data", "KAFKA_HEAP": "256m"}
        here |= {"KAFKA_TLS": folder / f".secrets/kafka-{number}", "KAFKA_BIND": HOST, "KAFKA_HOST": HOST, "KAFKA_VOTERS": voters}
        given = filled(SERVICES[f"kafka-{number}"]["environment"], made) | stages()["kafka"].env()
        environments.append(base() | given | {name: str(value) for name, value in (here | numbers).items()})
    return environments


def until(holds, what: str, log: Path, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}\n{log.read_text()[-3000:]}"
        time.sleep(0.3)


def complete(options: dict[str, str]) -> bool:
    """All three brokers are in the cluster."""
    with suppress(KafkaException):
        return len(AdminClient(options).list_topics(timeout=3).brokers) == 3
    return False


def registry_environment(cluster: Cluster) -> dict[str, str]:
    here = {"REGISTRY_JARS": str(JARS / "registry"), "REGISTRY_RUN": str(cluster.folder / "registry"), "REGISTRY_BIND": HOST}
    port = httpx.URL(cluster.registry).port
    return stages()["registry"].env() | cluster.environment("registry") | here | {"REGISTRY_PORT": str(port)}


@contextmanager
def started(folder: Path) -> Iterator[Cluster]:
    """It runs, with its users, their passwords and what each may do, its topics and its contracts."""
    made = secrets(folder)
    environments = broker_environments(folder, made)
    kafka = ",".join(f"{HOST}:{each['KAFKA_PORT']}" for each in environments)
    made_of = Cluster(
        folder, made, kafka, environments[0]["KAFKA_BROKER_PORT"], f"http://{HOST}:{free_ports(1)[0]}/apis/ccompat/v7"
    )
    (folder / "registry").mkdir()
    logs = [folder / f"kafka-{number}.log" for number in (1, 2, 3)]
    start = ROOT / "docker/kafka/start.sh"
    with (
        running(start, environments[0], logs[0]),
        running(start, environments[1], logs[1]),
        running(start, environments[2], logs[2]),
    ):
        until(lambda: complete(made_of.client("admin")), "three brokers", logs[0])
        init = subprocess.run(
            [ROOT / "docker/init-kafka.sh"],
            env=made_of.environment("admin") | {name: value for name, value in made.items() if name.startswith("KAFKA_")},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert init.returncode == 0, init.stderr + init.stdout
        log = folder / "registry.log"
        with running(ROOT / "docker/registry/start.sh", registry_environment(made_of), log):
            healthy = ROOT / "docker/registry/healthy.sh"
            asked = {"env": registry_environment(made_of), "capture_output": True}
            until(lambda: subprocess.run([healthy], **asked).returncode == 0, "the registry", log)
            registered = sundial(made_of, "admin", "schemas", "register")
            assert registered.returncode == 0, registered.stderr
            yield made_of


def sundial(cluster: Cluster, user: str, *arguments: str) -> subprocess.CompletedProcess:
    command = [Path(sys.executable).parent / "sundial", *arguments]
    return subprocess.run(command, env=cluster.environment(user), capture_output=True, text=True, timeout=120)
