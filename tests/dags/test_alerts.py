"""An alert reaches a real webhook, in each of the ways in which Airflow calls it."""

import asyncio
import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from tenacity import wait_none

from dags import alerts
from dags.alerts import Alert, tell


@pytest.fixture
def webhook(monkeypatch):
    """What was posted, and the answers that are still to be given (200 where none is left)."""
    posted, answers = [], []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posted.append((self.path, self.headers["Content-Type"], json.loads(body)))
            self.send_response(answers.pop(0) if answers else 200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("SUNDIAL_ALERT_WEBHOOK", f"http://127.0.0.1:{server.server_port}/hook/s3cret")
    monkeypatch.setattr(alerts._post.retry, "wait", wait_none())
    yield posted, answers
    server.shutdown()
    server.server_close()


def test_an_alert_is_one_post(webhook):
    posted, _ = webhook
    assert tell("the baseline is late")
    assert posted == [("/hook/s3cret", "application/json", {"text": "the baseline is late"})]


def test_a_failure_callback_and_a_deadline_both_post(webhook):
    posted, _ = webhook
    Alert("nightly failed")({})

    async def as_the_triggerer_does():
        await Alert(summary="nightly is late", context={"dag_run": {}})

    asyncio.run(as_the_triggerer_does())
    assert [body["text"] for _, _, body in posted] == ["nightly failed", "nightly is late"]


def test_a_webhook_that_fails_is_tried_again(webhook):
    posted, answers = webhook
    answers += [503, 500]
    assert tell("x")
    assert len(posted) == 3


def test_an_alert_that_cannot_be_posted_is_logged_without_the_secret_address(webhook, caplog):
    posted, answers = webhook
    answers += [500] * 3
    assert not tell("the stream was given up")
    assert len(posted) == 3
    assert "HTTPStatusError): the stream was given up" in caplog.text
    assert "s3cret" not in caplog.text


def test_without_a_webhook_the_log_says_that_no_message_is_sent(monkeypatch, caplog):
    monkeypatch.delenv("SUNDIAL_ALERT_WEBHOOK", raising=False)
    with caplog.at_level(logging.WARNING):
        assert not tell("the stream was given up")
    assert "SUNDIAL_ALERT_WEBHOOK is not set, so no message is sent): the stream was given up" in caplog.text
