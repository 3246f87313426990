"""The broker of the embedded stack: one Kafka node in KRaft mode, broker and controller in one process."""

import base64
import subprocess
import uuid
from collections.abc import Iterable
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from contracts.kafka_access import PLAIN, KafkaAccess
from stack import java, process
from stack.errors import StackError, tail
from stack.home import HOST, JARS, ROOT, Home

NAME = "kafka"
INTERNAL = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
# The registry would create these with Kafka's default retention and forget every schema after a week.
FOREVER = ("kafkasql-journal", "kafkasql-snapshots")
REGISTRY_EVENTS = "registry-events"  # the registry tells it of its changes, and fails where it can't; nobody reads it


def properties(home: Home) -> str:
    """The broker's settings: the common ones, and this stack's addresses, folder and single-node replication."""
    port, controller = home.ports["kafka"], home.ports["controller"]
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{HOST}:{controller}",
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
        "log.dirs": home.path / "kafka/data",
        **{f"{topic}.replication.factor": 1 for topic in INTERNAL},
        **{f"{topic}.min.isr": 1 for topic in INTERNAL[1:]},
        **{f"{topic}.num.partitions": 4 for topic in INTERNAL},
    }
    common = (ROOT / "docker/kafka/server.properties").read_text()
    return common + "\n" + "".join(f"{key}={value}\n" for key, value in settings.items())


def command(main: str, *arguments: str | Path, heap: str) -> list[str]:
    logging = ROOT / "docker/kafka/log4j2.properties"
    return [
        str(java.binary()),
        f"-Xmx{heap}",
        f"-Dlog4j2.configurationFile={logging}",
        "-cp",
        f"{JARS / 'kafka'}/*",
        main,
        *map(str, arguments),
    ]


def prepare(home: Home) -> None:
    """Write the settings and format the data folder once."""
    folder = home.path / "kafka"
    folder.mkdir(exist_ok=True)
    settings = folder / "server.properties"
    settings.write_text(properties(home))
    if (folder / "data/meta.properties").exists():
        return
    identity = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    log = process.log_file(home, NAME)
    with log.open("ab") as out:
        format_ = command("kafka.tools.StorageTool", "format", f"--cluster-id={identity}", "-c", settings, heap="128m")
        done = subprocess.run(format_, stdout=out, stderr=subprocess.STDOUT, env=home.process_environment())
    if done.returncode:
        raise StackError(f"formatting Kafka's data folder failed:\n{tail(log)}", log=log, remedy="sundial clean, then sundial up")


def part(home: Home) -> process.Part:
    settings = home.path / "kafka/server.properties"
    return process.Part(
        name=NAME,
        command=command("kafka.Kafka", settings, heap="512m"),
        environment=home.process_environment(),
        healthy=lambda: healthy(home),
        port=home.ports["kafka"],
    )


def admin(bootstrap: str, access: KafkaAccess = PLAIN) -> AdminClient:
    return AdminClient(access.client_options(bootstrap) | {"log_level": 0, "socket.timeout.ms": 10_000})


def healthy(home: Home) -> bool:
    """The broker answers with itself as the cluster's member."""
    if not process.listening(home.ports["kafka"]):
        return False
    try:
        return bool(admin(home.kafka).list_topics(timeout=2).brokers)
    except KafkaException:
        return False


def start(home: Home) -> None:
    """Start the broker unless it runs, wait for it, and create the topics in which the registry keeps the schemas."""
    if not process.find(home, NAME):
        process.require_free(home.ports["controller"], "kafka's controller")
        prepare(home)
    process.start(home, part(home))
    process.wait(home, part(home))
    client = admin(home.kafka)
    missing = [topic for topic in FOREVER if topic not in client.list_topics(timeout=10).topics]
    if missing:
        for future in client.create_topics(forever(missing, replication=1)).values():
            future.result(timeout=30)


def of_registry(replication: int) -> list[NewTopic]:
    """Every topic of a registry that may not make its own."""
    return [*forever(FOREVER, replication), NewTopic(REGISTRY_EVENTS, 1, replication, config={"retention.ms": "86400000"})]


def forever(names: Iterable[str], replication: int) -> list[NewTopic]:
    """Topics of one partition whose records are never deleted."""
    return [NewTopic(name, 1, replication, config={"retention.ms": "-1", "cleanup.policy": "delete"}) for name in names]
