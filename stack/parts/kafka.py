"""The Kafka of the embedded stack: one broker or several in KRaft mode, each broker and controller in one process."""

import base64
import re
import subprocess
import uuid
from collections.abc import Iterable
from pathlib import Path

from confluent_kafka import KafkaException

from stack.deploy.cluster import FOREVER, admin, forever, in_sync
from stack.errors import StackError, tail
from stack.install import java
from stack.instance import HOST, JARS, ROOT, Instance, numbered
from stack.parts import process

NAME = "kafka"
INTERNAL = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
BRIEF = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # a JVM that does not live long


def names(instance: Instance) -> list[str]:
    """Of the brokers' processes, folders and ports."""
    return [numbered(NAME, broker) for broker in instance.brokers]


def properties(instance: Instance, broker: int = 1) -> str:
    """A broker's settings: the common ones, and this stack's addresses, folder and replication."""
    controllers = {each: f"{HOST}:{instance.ports[numbered('controller', each)]}" for each in instance.brokers}
    name = numbered(NAME, broker)
    settings = {
        "process.roles": "broker,controller",
        "node.id": broker,
        "controller.quorum.voters": ",".join(f"{each}@{address}" for each, address in controllers.items()),
        "listeners": f"PLAINTEXT://{HOST}:{instance.ports[name]},CONTROLLER://{controllers[broker]}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{instance.ports[name]}",
        "log.dirs": instance.path / name / "data",
        "default.replication.factor": instance.replication,
        "min.insync.replicas": in_sync(instance.replication),
        **{f"{topic}.replication.factor": instance.replication for topic in INTERNAL},
        **{f"{topic}.min.isr": in_sync(instance.replication) for topic in INTERNAL[1:]},
        **{f"{topic}.num.partitions": 4 for topic in INTERNAL},
        # Often enough that a person who tries out retention sees it. The default is five minutes; a look goes through all logs.
        "log.retention.check.interval.ms": 15_000,
    }
    common = (ROOT / "docker/kafka/server.properties").read_text()
    return common + "\n" + "".join(f"{key}={value}\n" for key, value in settings.items())


def command(
    main: str,
    *arguments: str | Path,
    jvm: Iterable[str],
    logging: str = "log4j2.properties",
    libraries: Iterable[str] = ("kafka",),
) -> list[str]:
    """libraries: folders of jars."""
    return [
        str(java.binary()),
        *jvm,
        f"-Dlog4j2.configurationFile={ROOT / 'docker/kafka' / logging}",
        "-cp",
        ":".join(f"{JARS / each}/*" for each in libraries),
        main,
        *map(str, arguments),
    ]


def prepare(instance: Instance, broker: int = 1) -> None:
    """Write a broker's settings and format its data folder once. Raises StackError if its controller's port is taken."""
    controller = numbered("controller", broker)
    process.require_free(instance.ports[controller], f"kafka's {controller}")
    folder = instance.path / numbered(NAME, broker)
    folder.mkdir(exist_ok=True)
    settings = folder / "server.properties"
    settings.write_text(properties(instance, broker))
    if (folder / "data/meta.properties").exists():
        return
    log = process.log_file(instance, folder.name)
    with log.open("ab") as out:
        format_ = command("kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id(instance)}", "-c", settings, jvm=BRIEF)
        done = subprocess.run(format_, stdout=out, stderr=subprocess.STDOUT, env=instance.process_environment())
    if done.returncode:
        raise StackError(f"formatting Kafka's data folder failed:\n{tail(log)}", log=log, remedy="sundial clean, then sundial up")


def cluster_id(instance: Instance) -> str:
    """That of the folders which are formatted; a new one if none is."""
    for file in (instance.path / name / "data/meta.properties" for name in names(instance)):
        if file.exists() and (found := re.search(r"^cluster\.id=(.+)$", file.read_text(), re.MULTILINE)):
            return found[1]
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def part(instance: Instance, broker: int = 1) -> process.Part:
    name = numbered(NAME, broker)
    settings = instance.path / name / "server.properties"
    return process.Part(
        name=name,
        command=command("kafka.Kafka", settings, jvm=["-Xmx512m" if len(instance.brokers) == 1 else "-Xmx256m"]),
        environment=instance.process_environment(),
        healthy=lambda: healthy(instance, broker),
        prepare=lambda: prepare(instance, broker),
        port=instance.ports[name],
    )


def healthy(instance: Instance, broker: int = 1) -> bool:
    """The broker answers with itself as the cluster's member."""
    port = instance.ports[numbered(NAME, broker)]
    if not process.listening(port):
        return False
    try:
        return broker in admin(f"{HOST}:{port}").list_topics(timeout=2).brokers
    except KafkaException:
        return False


def start(instance: Instance) -> None:
    """Start every broker unless it runs, wait for all, and create the topics in which the registry keeps the schemas.

    None is waited for before all are started: alone they are no cluster.
    """
    for broker in instance.brokers:
        process.start(instance, part(instance, broker))
    for broker in instance.brokers:
        process.wait(instance, part(instance, broker))
    client = admin(instance.kafka)
    missing = [topic for topic in FOREVER if topic not in client.list_topics(timeout=10).topics]
    if missing:
        for future in client.create_topics(forever(missing, instance.replication)).values():
            future.result(timeout=30)
