"""`sundial send` counts what Kafka refuses."""

import json
from pathlib import Path

from confluent_kafka import KafkaError
from typer.testing import CliRunner

from sources import send_command
from stack.commands.cli import app


def lines(path: Path, *rows: dict | str) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_what_kafka_refuses_in_the_end_counts_as_failed(tmp_path, monkeypatch):
    class Refuses:
        def __init__(self, topic, kafka, linger_ms, on_error):
            self._on_error, self._waiting = on_error, 0

        def produce(self, *_, **__):
            self._waiting += 1

        def poll(self, _):
            pass

        def flush(self, _):
            for _ in range(self._waiting - 1):
                self._on_error(KafkaError(KafkaError.INVALID_RECORD), None)
            return 1

    monkeypatch.setattr(send_command, "producer", Refuses)
    file = lines(tmp_path / "views.jsonl", *[{"Product": "p", "User": "u", "At": "2026-03-01T10:00:00Z"}] * 3)
    sent = CliRunner().invoke(app, ["send", str(file), "product-views", "--kafka", "nowhere:1", "--registry", "http://nowhere"])
    assert sent.exit_code == 1
    assert "0 records to product-views" in sent.stdout
    assert "3 failed deliveries" in sent.stdout
