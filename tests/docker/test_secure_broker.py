"""The compose file's three brokers and a registry, run natively with the very same scripts, settings and certificates.

Only addresses, ports and folders differ. Everybody is let in who may, and nobody else.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient

from contracts.feeds import load_feed, load_feeds
from contracts.kafka_access import PLAIN, KafkaAccess
from contracts.queries import load_queries
from serving.events import Events
from serving.live import Live
from serving.memory import Memory
from serving.wire import Decoder
from stack import access, java
from stack.home import HOST, JARS, free_ports
from tests.docker.compose import ROOT, SERVICES, filled, secrets, stages

FEED = load_feed("service-use")
QUERIES = load_queries().values()
REFUSED = KafkaError.TOPIC_AUTHORIZATION_FAILED
JOURNAL = "kafkasql-journal"


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

    def access(self, user: str) -> KafkaAccess:
        return KafkaAccess.from_environment(self.environment(user))

    def client(self, user: str) -> dict[str, str]:
        return self.access(user).client_options(self.kafka) | {"log_level": 0}


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


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
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


def let_in(*clients: dict[str, str]) -> list[tuple[bool, set[int]]]:
    """Of each client, whether it is told of the cluster, and the errors that it met."""
    with ThreadPoolExecutor(len(clients)) as pool:
        return list(pool.map(_let_in, clients))


def _let_in(options: dict[str, str]) -> tuple[bool, set[int]]:
    errors = set()
    client = AdminClient(options | {"log_level": 0, "error_cb": lambda error: errors.add(error.code())})
    try:
        return bool(client.list_topics(timeout=3).brokers), errors
    except KafkaException:
        client.poll(0.5)
        return False, errors


def outcome(options: dict[str, str], topic: str) -> int:
    """What becomes of a record that this client sends: 0, or the error's code."""
    codes = []
    producer = Producer(options | {"acks": "all", "message.timeout.ms": 15_000})
    producer.produce(topic, b"bytes", b"key", on_delivery=lambda error, _: codes.append(error.code() if error else 0))
    producer.flush(20)
    return codes[0]


def may(options: dict[str, str], *topics: str) -> list[str]:
    """What the brokers say that this client may do with each topic; nothing where it may not even know of it."""
    client = AdminClient(options)
    asked = client.describe_topics(TopicCollection(list(topics)), include_authorized_operations=True)
    failures = {topic: failure for topic in topics if (failure := asked[topic].exception(15))}
    assert {failure.args[0].code() for failure in failures.values()} <= {REFUSED}
    return ["" if topic in failures else _names(asked[topic].result().authorized_operations) for topic in topics]


def _names(operations: list[AclOperation]) -> str:
    return " ".join(sorted(operation.name for operation in operations))


def test_who_does_not_say_who_he_is_is_refused(cluster):
    plain, tls = PLAIN.client_options(cluster.kafka), KafkaAccess(ca=cluster.ca).client_options(cluster.kafka)
    assert [told for told, _ in let_in(plain, tls)] == [False, False]


def test_a_wrong_password_or_an_unknown_user_is_refused(cluster):
    right = cluster.client("serving")
    assert let_in(right) == [(True, set())]
    wrongs = {"sasl.password": "guessed"}, {"sasl.username": "nobody"}, {"sasl.username": "admin"}
    for told, errors in let_in(*(right | wrong for wrong in wrongs)):
        assert not told
        assert KafkaError._AUTHENTICATION in errors


def test_a_broker_that_another_authority_vouches_for_is_not_believed(cluster, tmp_path):
    secrets(tmp_path)
    ((told, errors),) = let_in(cluster.client("serving") | {"ssl.ca.location": str(tmp_path / ".secrets/ca.crt")})
    assert not told
    assert KafkaError._SSL in errors


def test_brokers_let_in_among_themselves_who_has_a_brokers_certificate_by_the_same_authority(cluster, tmp_path):
    secrets(tmp_path)
    own, foreign = (folder / ".secrets/kafka-1/broker.pem" for folder in (cluster.folder, tmp_path))
    options = KafkaAccess(ca=cluster.ca).client_options(f"{HOST}:{cluster.broker_port}")
    known, without, unknown = let_in(options | certificate(own), options, options | certificate(foreign))
    assert known == (True, set())
    assert not without[0]
    assert not unknown[0]


def certificate(file: Path) -> dict[str, str]:
    return {"ssl.certificate.location": str(file), "ssl.key.location": str(file)}


READS, WRITES, BOTH = "DESCRIBE READ", "DESCRIBE WRITE", "DESCRIBE READ WRITE"


@pytest.mark.parametrize(
    ("user", "operations"),
    [
        ("sources", [WRITES, "", "", "", ""]),
        ("streams", [READS, WRITES, WRITES, WRITES, ""]),
        ("batch", [BOTH, "", "", BOTH, ""]),
        ("serving", ["", READS, READS, "", ""]),
        ("registry", ["", "", "", "", BOTH]),
    ],
)
def test_each_user_may_do_its_part_and_no_more(cluster, user, operations):
    topics = FEED.topic, FEED.scored_topic, FEED.anomalies_topic, FEED.dead_letter_topic, JOURNAL
    assert may(cluster.client(user), *topics) == operations


def test_a_record_gets_where_it_may_and_nowhere_else(cluster):
    sources, serving, batch = (cluster.client(user) for user in ("sources", "serving", "batch"))
    assert outcome(sources, load_feed("road-traffic").topic) == 0
    assert {outcome(sources, topic) for topic in (FEED.scored_topic, FEED.dead_letter_topic, JOURNAL)} == {REFUSED}
    assert {outcome(serving, topic) for topic in (FEED.topic, FEED.scored_topic)} == {REFUSED}
    assert {outcome(batch, topic) for topic in (FEED.scored_topic, FEED.anomalies_topic)} == {REFUSED}


def test_nobody_but_the_superuser_changes_anything(cluster):
    for user in access.USERS:
        client = AdminClient(cluster.client(user))
        with pytest.raises(KafkaException) as refused:
            client.delete_topics([FEED.topic], request_timeout=10)[FEED.topic].result(10)
        assert refused.value.args[0].code() == REFUSED


def test_deploying_again_changes_passwords_only_and_takes_back_what_no_one_wants(cluster):
    def deploy(feeds) -> list[str]:
        return access.deploy(cluster.kafka, cluster.access("admin"), feeds, QUERIES, cluster.secrets)

    feeds, rule = load_feeds(), "User:serving  READ  TOPIC  road-traffic.scored"
    assert deploy(feeds.values()) == [f"password set: {user}" for user in access.USERS]
    assert f"no longer allowed: {rule}" in deploy([feed for feed in feeds.values() if feed.name != "road-traffic"])
    assert may(cluster.client("serving"), "road-traffic.scored") == [""]
    assert f"allowed: {rule}" in deploy(feeds.values())


def test_topics_are_kept_by_all_three_brokers(cluster):
    topics = AdminClient(cluster.client("admin")).list_topics(timeout=10).topics
    for name in (FEED.topic, FEED.scored_topic, JOURNAL):
        assert {len(partition.replicas) for partition in topics[name].partitions.values()} == {3}, name


def test_a_capture_is_replayed_and_spark_reads_and_writes_without_telling_the_password(cluster):
    """The record that Spark reads as `batch` is one that `sundial replay` sent as `sources`."""
    capture = cluster.folder / "capture.csv"
    capture.write_text("ServiceName,Timestamp,Value\nweb,2026-11-02T00:00:00Z,5\n")
    played = sundial(cluster, "sources", "replay", str(capture), "--feed", FEED.name)
    assert played.returncode == 0, played.stderr
    passwords = {name: value for name, value in cluster.secrets.items() if name.endswith("_PASSWORD")}
    ran = subprocess.run(
        [sys.executable, Path(__file__).parent / "secure_job.py"],
        env=cluster.environment("batch") | passwords,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "['web']" in ran.stdout
    assert "refused: True" in ran.stdout
    assert "KafkaProducer" in ran.stderr or "ProducerConfig" in ran.stderr, "Kafka's own lines are among those looked through"
    for name, password in passwords.items():
        assert password not in ran.stdout + ran.stderr, name


def test_serving_follows_the_topics(cluster, caplog):
    feeds = {FEED.name: FEED}
    assert outcome(cluster.client("streams"), FEED.scored_topic) == 0  # bytes that no one can decode
    live = Live(cluster.client("serving"), feeds, Memory(feeds, 10, 10, 10), Events(10), Decoder(cluster.registry), 3600)
    live.start()
    try:
        until(lambda: live.state.caught_up, "caught up", cluster.folder / "kafka-1.log", 30)
        assert live.state.broker == "connected"
        assert live.state.missing_topics == []
        assert live.state.undecodable
        said = [record.getMessage() for record in caplog.records if record.name == "serving.live"]
        assert [line for line in said if not line.startswith("undecodable")] == [], "it was refused something"
    finally:
        live.stop()


def test_no_password_stays_where_a_broker_writes(cluster):
    passwords = [value for name, value in cluster.secrets.items() if name.endswith("_PASSWORD")]
    for number in (1, 2, 3):
        files = [file for file in (cluster.folder / f"kafka-{number}").rglob("*") if file.is_file()]
        assert not [file for file in files if any(value.encode() in file.read_bytes() for value in passwords)]
        log = (cluster.folder / f"kafka-{number}.log").read_text()
        assert not any(value in log for value in passwords)
    assert not any(value in (cluster.folder / "registry.log").read_text() for value in passwords)
