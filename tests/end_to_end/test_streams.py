"""Streams of several feeds beside each other: what happens to one is no other's business."""

import datetime as dt
import shutil
import threading

import pytest

from contracts.feeds import load_feed
from stack.parts import streams
from stack.parts.airflow_api import AirflowApi
from stack.parts.streams import Stream
from tests.jobs.readings import produce
from tests.support import topics
from tests.support.waiting import until

pytestmark = [pytest.mark.timeout(3600), pytest.mark.full]
FEED = load_feed("service-use")
SERVICES = ("cart", "checkout")
PAUSE = 0.5  # seconds between two rounds of readings


class Readings:
    """A thread that sends a reading of each service again and again, each for the next interval."""

    def __init__(self, instance):
        self.sent: set[bytes] = set()
        self._instance, self._ended = instance, threading.Event()
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> "Readings":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ended.set()
        self._thread.join()

    def _send(self) -> None:
        at = dt.datetime.now(dt.UTC).replace(minute=0, second=0, microsecond=0)
        while not self._ended.wait(PAUSE):
            produce(self._instance, FEED, *((service, at, 7) for service in SERVICES))
            self.sent |= {f"{service}|{round(at.timestamp() * 1000)}".encode() for service in SERVICES}
            at += dt.timedelta(seconds=FEED.interval_seconds)


def test_a_stream_is_given_up_another_is_switched_on_and_a_third_misses_no_reading(platform_stack):
    instance = platform_stack
    well, broken, new = (Stream(feed, "score") for feed in (FEED.name, "road-traffic", "world-cup"))
    streams.start(instance, well, print)
    before = well.status(instance)
    with Readings(instance) as readings:
        checkpoint = broken.folder(instance).checkpoint
        begin = checkpoint / "1" / "sources" / "0" / "0"
        begin.parent.mkdir(parents=True)
        begin.write_text("no offsets\n")
        AirflowApi(instance).unpause(broken.dag)
        until("it is given up", lambda: broken.status(instance).given_up, 900, lambda: broken.status(instance))
        streams.start(instance, new, print)
        shutil.rmtree(checkpoint)
        streams.start(instance, broken, print)
        assert not broken.status(instance).given_up
        streams.stop(instance, new, print)
    assert len(readings.sent) > 100
    scored = lambda: {message.key() for message in topics.consume(instance.kafka, FEED.scored_topic)}  # noqa: E731
    until("every reading is scored", lambda: scored() >= readings.sent, 60, lambda: sorted(readings.sent - scored())[:5])
    after = well.status(instance)
    assert (after.pid, after.heartbeat["query_started_at"]) == (before.pid, before.heartbeat["query_started_at"])
    assert [each.state(instance) for each in (well, broken, new)] == ["running", "running", "stopped"]
    assert [each.status(instance).switched_off for each in (well, broken, new)] == [False, False, True]
