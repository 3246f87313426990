"""`sundial send` and `sundial read`: what was sent to a topic can be read again as text."""

import gzip
import json
from pathlib import Path

import pytest
from confluent_kafka import Producer
from typer.testing import CliRunner

from contracts.declared_topics import declared_topics
from stack.commands.cli import app
from stack.deploy import schemas, topics
from stack.instance import Instance
from stack.parts import kafka, lifecycle, registry

pytestmark = [pytest.mark.parts, pytest.mark.full]  # a broker of its own, with the declared topics
RIDES = Path(__file__).resolve().parents[3] / "samples" / "nyc_taxi_rides_2020-07.csv"
EVENT = {"MetricKey": "environment=a:metric=b", "Id": "1", "Timestamp": "2026-11-22T01:00:00Z", "Value": 2.5}


def lines(path: Path, *rows: dict | str) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    """A broker and a registry, with the declared topics and contracts."""
    instance = Instance(tmp_path_factory.mktemp("sent")).make(base=0)
    try:
        kafka.start(instance)
        registry.start(instance)
        topics.deploy(instance.kafka, declared_topics())
        schemas.register(instance.registry, declared_topics())
        yield instance
    finally:
        lifecycle.down(instance, print)


@pytest.fixture
def sundial(instance):
    """Types a command; its exit code and output."""

    def type_(*words: object):
        return CliRunner().invoke(app, ["--home", str(instance.path), *map(str, words)], catch_exceptions=False)

    return type_


def test_without_a_route_there_is_no_topic_of_alerts_and_nothing_to_list(sundial):
    listed = sundial("alerts", "list")
    assert (listed.exit_code, listed.stdout.strip()) == (0, "No route is declared in schemas/alerts: see docs/alerts.md.")


def test_what_is_sent_can_be_read_and_upserted(sundial, tmp_path):
    events = [EVENT, EVENT | {"Id": None, "Value": 3.5}, EVENT | {"MetricKey": "environment=c:metric=b"}, EVENT | {"Value": "x"}]
    file = lines(tmp_path / "events.jsonl", *events)
    zipped = tmp_path / "events.jsonl.gz"
    zipped.write_bytes(gzip.compress(file.read_bytes()))
    sent = sundial("send", zipped, "metrics", "--key", "MetricKey")
    assert sent.exit_code == 1
    assert "3 records to metrics in" in sent.stdout
    assert "bad row: events.jsonl.gz:4: Value: " in sent.stderr
    seen = [json.loads(line) for line in sundial("read", "metrics").stdout.splitlines()]
    in_order = [(row["key"], row["value"]) for row in sorted(seen, key=lambda row: (row["key"], row["offset"]))]
    at = "2026-11-22T01:00:00+00:00"
    assert in_order == [
        ("environment=a:metric=b", {"Id": "1", "Timestamp": at, "Value": 2.5}),
        ("environment=a:metric=b", {"Id": None, "Timestamp": at, "Value": 3.5}),
        ("environment=c:metric=b", {"Id": "1", "Timestamp": at, "Value": 2.5}),
    ]
    upserted = [json.loads(line) for line in sundial("read", "metrics", "--latest").stdout.splitlines()]
    assert sorted((row["key"], row["value"]["Value"]) for row in upserted) == [
        ("environment=a:metric=b", 3.5),
        ("environment=c:metric=b", 2.5),
    ]
    assert len(sundial("read", "metrics", "-n", 2).stdout.splitlines()) == 2


def test_keys_of_avro_are_written_and_read(sundial):
    assert sundial("send", RIDES, "rides").exit_code == 0
    seen = [json.loads(line) for line in sundial("read", "rides").stdout.splitlines()]
    assert len(seen) == 266
    assert {row["key"]["VendorID"] == row["value"]["VendorID"] for row in seen} == {True}


def test_json_is_written_and_read_without_the_registry(sundial, tmp_path):
    put = {"Product": "lamp", "op": "PUT", "name": "Länge", "price": 1}
    file = lines(tmp_path / "changes.jsonl", put, {"Product": "lamp", "op": "DELETE"}, put | {"price": "x"}, put | {"op": 1})
    sent = sundial("send", file, "product-changes", "--key", "Product")
    assert (sent.exit_code, "2 records to product-changes in" in sent.stdout) == (1, True)
    assert "bad row: changes.jsonl:3: price: " in sent.stderr
    seen = [json.loads(line) for line in sundial("read", "product-changes").stdout.splitlines()]
    assert [(row["key"], row["value"]) for row in seen] == [
        ("lamp", {"op": "PUT", "name": "Länge", "price": 1}),
        ("lamp", {"op": "DELETE"}),
    ]
    views = lines(tmp_path / "views.jsonl", {"Product": "lamp", "User": "ann", "At": "2026-11-21T11:00:00+01:00"})
    assert sundial("send", views, "product-views").exit_code == 0
    [row] = [json.loads(line) for line in sundial("read", "product-views").stdout.splitlines()]
    assert (row["key"], row["value"]) == (None, {"Product": "lamp", "User": "ann", "At": "2026-11-21T11:00:00+01:00"})


def test_a_topic_that_nobody_declares_is_refused(sundial):
    sent = sundial("send", RIDES, "nope")
    assert (sent.exit_code, sundial("read", "nope").exit_code) == (2, 1)
    assert "no declaration knows topic 'nope'" in sent.stderr


def test_lines_are_sent_as_they_are_with_their_numbers(sundial, tmp_path):
    file = tmp_path / "access.log.gz"
    file.write_bytes(gzip.compress("one\n\nÄ\n".encode()))
    sent = sundial("send", file, "access-log")
    assert (sent.exit_code, sent.stdout.split(" in ")[0]) == (0, "3 records to access-log")
    seen = [json.loads(line) for line in sundial("read", "access-log").stdout.splitlines()]
    assert [(row["key"], row["value"], row["headers"]) for row in seen] == [
        ("access.log.gz", text, {"file": "access.log.gz", "line": str(number)}) for number, text in enumerate(("one", "", "Ä"), 1)
    ]
    assert "lines of text have no columns" in sundial("send", file, "access-log", "--key", "A").stderr
    assert "--follow: rides is not of lines of text" in sundial("send", RIDES, "rides", "--follow").stderr


@pytest.mark.timeout(120)
def test_of_transactions_what_is_committed_is_read_and_reading_ends_though_their_ends_are_no_records(instance, sundial):
    producer = Producer({"bootstrap.servers": instance.kafka, "transactional.id": "test", "log_level": 0})
    producer.init_transactions(30)
    for value, end in (("a", producer.commit_transaction), ("b", producer.abort_transaction), ("c", lambda: None)):
        producer.begin_transaction()
        producer.produce("metrics.dead-letter", value)
        assert producer.flush(30) == 0
        end()
    seen = [json.loads(line)["value"] for line in sundial("read", "metrics.dead-letter").stdout.splitlines()]
    producer.abort_transaction()
    assert seen == ["a"]
