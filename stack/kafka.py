"""The Kafka of the embedded stack: one broker or several in KRaft mode, each broker and controller in one process."""

import base64
import re
import subprocess
import uuid
from collections.abc import Iterable
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from contracts.kafka_access import PLAIN, KafkaAccess
from stack import java, process
from stack.errors import StackError, tail
from stack.home import COPIES, HOST, JARS, ROOT, Home, numbered

NAME = "kafka"
INTERNAL = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
# The registry would create these with Kafka's default retention and forget every schema after a week.
FOREVER = ("kafkasql-journal", "kafkasql-snapshots")
BRIEF = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # a JVM that does not live long
REGISTRY_EVENTS = "registry-events"  # the registry tells it of its changes, and fails where it can't; nobody reads it


def names(home: Home) -> list[str]:
    """Of the brokers' processes, folders and ports."""
    return [numbered(NAME, broker) for broker in home.brokers]


def in_sync(replication: int) -> int:
    """On how many brokers a record must be before it is confirmed: on all but one, so that one may be away."""
    return max(1, replication - 1)


def properties(home: Home, broker: int = 1) -> str:
    """A broker's settings: the common ones, and this stack's addresses, folder and replication."""
    controllers = {each: f"{HOST}:{home.ports[numbered('controller', each)]}" for each in home.brokers}
    name = numbered(NAME, broker)
    settings = {
        "process.roles": "broker,controller",
        "node.id": broker,
        "controller.quorum.voters": ",".join(f"{each}@{address}" for each, address in controllers.items()),
        "listeners": f"PLAINTEXT://{HOST}:{home.ports[name]},CONTROLLER://{controllers[broker]}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{home.ports[name]}",
        "log.dirs": home.path / name / "data",
        "default.replication.factor": home.replication,
        "min.insync.replicas": in_sync(home.replication),
        **{f"{topic}.replication.factor": home.replication for topic in INTERNAL},
        **{f"{topic}.min.isr": in_sync(home.replication) for topic in INTERNAL[1:]},
        **{f"{topic}.num.partitions": 4 for topic in INTERNAL},
        # Few and small logs are looked through often, so that who tries out retention sees it.
        "log.retention.check.interval.ms": 5000,
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


def prepare(home: Home, broker: int = 1) -> None:
    """Write a broker's settings and format its data folder once."""
    folder = home.path / numbered(NAME, broker)
    folder.mkdir(exist_ok=True)
    settings = folder / "server.properties"
    settings.write_text(properties(home, broker))
    if (folder / "data/meta.properties").exists():
        return
    log = process.log_file(home, folder.name)
    with log.open("ab") as out:
        format_ = command("kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id(home)}", "-c", settings, jvm=BRIEF)
        done = subprocess.run(format_, stdout=out, stderr=subprocess.STDOUT, env=home.process_environment())
    if done.returncode:
        raise StackError(f"formatting Kafka's data folder failed:\n{tail(log)}", log=log, remedy="sundial clean, then sundial up")


def cluster_id(home: Home) -> str:
    """That of the folders which are formatted; a new one if none is."""
    for file in (home.path / name / "data/meta.properties" for name in names(home)):
        if file.exists() and (found := re.search(r"^cluster\.id=(.+)$", file.read_text(), re.MULTILINE)):
            return found[1]
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def part(home: Home, broker: int = 1) -> process.Part:
    name = numbered(NAME, broker)
    settings = home.path / name / "server.properties"
    return process.Part(
        name=name,
        command=command("kafka.Kafka", settings, jvm=["-Xmx512m" if len(home.brokers) == 1 else "-Xmx256m"]),
        environment=home.process_environment(),
        healthy=lambda: healthy(home, broker),
        port=home.ports[name],
    )


def admin(bootstrap: str, access: KafkaAccess = PLAIN) -> AdminClient:
    return AdminClient(access.client_options(bootstrap) | {"log_level": 0, "socket.timeout.ms": 10_000})


def replication(bootstrap: str, access: KafkaAccess) -> int:
    """How many brokers of a cluster keep each record unless somebody says: three, or as many as there are."""
    return min(COPIES, len(admin(bootstrap, access).list_topics(timeout=10).brokers))


def healthy(home: Home, broker: int = 1) -> bool:
    """The broker answers with itself as the cluster's member."""
    port = home.ports[numbered(NAME, broker)]
    if not process.listening(port):
        return False
    try:
        return broker in admin(f"{HOST}:{port}").list_topics(timeout=2).brokers
    except KafkaException:
        return False


def start(home: Home) -> None:
    """Start every broker unless it runs, wait for all, and create the topics in which the registry keeps the schemas.

    None is waited for before all are started: alone they are no cluster.
    """
    for broker in home.brokers:
        if not process.find(home, numbered(NAME, broker)):
            controller = numbered("controller", broker)
            process.require_free(home.ports[controller], f"kafka's {controller}")
            prepare(home, broker)
        process.start(home, part(home, broker))
    for broker in home.brokers:
        process.wait(home, part(home, broker))
    client = admin(home.kafka)
    missing = [topic for topic in FOREVER if topic not in client.list_topics(timeout=10).topics]
    if missing:
        for future in client.create_topics(forever(missing, home.replication)).values():
            future.result(timeout=30)


def of_registry(replication: int) -> list[NewTopic]:
    """Every topic of a registry that may not make its own."""
    return [*forever(FOREVER, replication), NewTopic(REGISTRY_EVENTS, 1, replication, config={"retention.ms": "86400000"})]


def forever(names: Iterable[str], replication: int) -> list[NewTopic]:
    """Topics of one partition whose records are never deleted."""
    return [NewTopic(name, 1, replication, config={"retention.ms": "-1", "cleanup.policy": "delete"}) for name in names]
