"""The secured brokers let in everybody who may, and nobody else."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient

from contracts.feeds import load_feed, load_feeds
from contracts.kafka_credentials import PLAIN, KafkaCredentials
from contracts.queries import load_queries
from serving.decoder import Decoder
from serving.events import Events
from serving.incidents import Incidents
from serving.intake import Intake
from serving.live_consumer import LiveConsumer
from serving.memory import Memory
from stack.deploy import acls
from stack.instance import HOST
from tests.docker.compose import secrets
from tests.docker.secure_cluster import Cluster, started, sundial, until

FEED = load_feed("service-use")
QUERIES = load_queries().values()
REFUSED = KafkaError.TOPIC_AUTHORIZATION_FAILED
JOURNAL = "kafkasql-journal"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    with started(tmp_path_factory.mktemp("cluster")) as made:
        yield made


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
    plain, tls = PLAIN.client_options(cluster.kafka), KafkaCredentials(ca=cluster.ca).client_options(cluster.kafka)
    assert [told for told, _ in let_in(plain, tls)] == [False, False]


def test_a_wrong_password_or_an_unknown_user_is_refused(cluster):
    right = cluster.client("serving")
    assert let_in(right) == [(True, set())]
    wrongs = {"sasl.password": "guessed"}, {"sasl.username": "nobody"}, {"sasl.username": "admin"}
    for told, errors in let_in(*(right | wrong for wrong in wrongs)):
        assert not told
        assert KafkaError._AUTHENTICATION in errors


@pytest.mark.full
def test_a_broker_that_another_authority_vouches_for_is_not_believed(cluster, tmp_path):
    secrets(tmp_path)
    ((told, errors),) = let_in(cluster.client("serving") | {"ssl.ca.location": str(tmp_path / ".secrets/ca.crt")})
    assert not told
    assert KafkaError._SSL in errors


@pytest.mark.full
def test_brokers_let_in_among_themselves_who_has_a_brokers_certificate_by_the_same_authority(cluster, tmp_path):
    secrets(tmp_path)
    own, foreign = (folder / ".secrets/kafka-1/broker.pem" for folder in (cluster.folder, tmp_path))
    options = KafkaCredentials(ca=cluster.ca).client_options(f"{HOST}:{cluster.broker_port}")
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
        ("sources", [WRITES, "", "", "", "", ""]),
        ("streams", [READS, WRITES, WRITES, WRITES, WRITES, ""]),
        ("batch", [BOTH, "", "", READS, BOTH, ""]),
        ("serving", ["", READS, READS, READS, READS, ""]),
        ("registry", ["", "", "", "", "", BOTH]),
    ],
)
def test_each_user_may_do_its_part_and_no_more(cluster, user, operations):
    topics = FEED.topic, FEED.scored_topic, FEED.anomalies_topic, FEED.incidents_topic, FEED.dead_letter_topic, JOURNAL
    assert may(cluster.client(user), *topics) == operations


def test_a_record_gets_where_it_may_and_nowhere_else(cluster):
    sources, serving, batch = (cluster.client(user) for user in ("sources", "serving", "batch"))
    assert outcome(sources, load_feed("road-traffic").topic) == 0
    assert {outcome(sources, topic) for topic in (FEED.scored_topic, FEED.dead_letter_topic, JOURNAL)} == {REFUSED}
    assert {outcome(serving, topic) for topic in (FEED.topic, FEED.scored_topic)} == {REFUSED}
    assert {outcome(batch, topic) for topic in (FEED.scored_topic, FEED.anomalies_topic)} == {REFUSED}


def test_nobody_but_the_superuser_changes_anything(cluster):
    for user in acls.USERS:
        client = AdminClient(cluster.client(user))
        with pytest.raises(KafkaException) as refused:
            client.delete_topics([FEED.topic], request_timeout=10)[FEED.topic].result(10)
        assert refused.value.args[0].code() == REFUSED


@pytest.mark.full
def test_deploying_again_changes_passwords_only_and_takes_back_what_no_one_wants(cluster):
    def deploy(feeds) -> list[str]:
        return acls.deploy(cluster.kafka, cluster.credentials("admin"), feeds, QUERIES, cluster.secrets)

    feeds, rule = load_feeds(), "User:serving  READ  TOPIC  road-traffic.scored"
    assert deploy(feeds.values()) == [f"password set: {user}" for user in acls.USERS]
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
    assert outcome(cluster.client("streams"), FEED.scored_topic) == 0  # bytes that no one can decode
    declared = FEED.model_copy(update={"name": "declared-just-now"})  # its topics are not there, and not allowed
    feeds = {each.name: each for each in (FEED, declared)}
    intake = Intake(Memory(10, 10, 10), Incidents(10), Decoder(cluster.registry))
    live = LiveConsumer(cluster.client("serving"), lambda: feeds, intake, Events(10), 3600, 1000)
    live.start()
    try:
        until(lambda: live.status.caught_up, "caught up", cluster.folder / "kafka-1.log", 30)
        assert live.status.broker == "connected"
        assert live.status.missing_topics == [declared.anomalies_topic, declared.incidents_topic, declared.scored_topic]
        assert live.status.undecodable
        said = [record.getMessage() for record in caplog.records if record.name == "serving.live_consumer"]
        assert [line for line in said if not line.startswith("undecodable")] == [], "it was refused something"
    finally:
        live.stop()


@pytest.mark.full
def test_no_password_stays_where_a_broker_writes(cluster):
    passwords = [value for name, value in cluster.secrets.items() if name.endswith("_PASSWORD")]
    for number in (1, 2, 3):
        files = [file for file in (cluster.folder / f"kafka-{number}").rglob("*") if file.is_file()]
        assert not [file for file in files if any(value.encode() in file.read_bytes() for value in passwords)]
        log = (cluster.folder / f"kafka-{number}.log").read_text()
        assert not any(value in log for value in passwords)
    assert not any(value in (cluster.folder / "registry.log").read_text() for value in passwords)
