"""What is live: the time from a scored record to the frame of a page that shows it, and the memory of pages that listen.

One service gets a record every 0.2 s. Each record changes the newest reading, so the page draws it anew. Chromium shows the
service. The time is taken at the frame that follows the one in which the chart has the record.
"""

import datetime as dt
import io
import shutil
import socket
import time
from pathlib import Path

import fastavro
import numpy as np
import psutil
from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from playwright.sync_api import Page, sync_playwright

from bench.platform import SERVICES, platform, promote_large_baseline, wait_for
from bench.serving.process import serving
from contracts import avro
from contracts.declared_topics import declared_topics
from contracts.feeds import Feed, load_feed
from stack.instance import Instance

EVERY = 0.2  # seconds between two records
SETTLE = 10.0  # seconds that the listeners receive records before the memory is read
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
NOTE_FRAMES = """globalThis.shownAt = {};
const look = () => {
  const values = globalThis.sundial?.chart.data?.[1];
  const newest = values && Array.from(values).findLast((each) => each !== null && each !== undefined);
  if (newest !== undefined) globalThis.shownAt[newest] ??= performance.timeOrigin + performance.now();
  requestAnimationFrame(look);
};
requestAnimationFrame(look);"""


class Records:
    """Writes scored records of a feed."""

    def __init__(self, instance: Instance, feed: Feed):
        self._topic, self._schema = feed.scored_topic, avro.parsed("scored")
        registry = SchemaRegistryClient({"url": instance.registry})
        self._header = avro.HEADER.pack(avro.MAGIC, registry.get_latest_version(avro.subject(feed.scored_topic)).schema_id)
        self._producer = Producer({"bootstrap.servers": instance.kafka, "linger.ms": 0, "acks": "all"})

    def send(self, service: str, at: dt.datetime, value: int) -> float:
        """Epoch milliseconds at which it was handed to the producer."""
        record = {"ServiceName": service, "Timestamp": at, "Value": value, "DayType": at.isoweekday(), "Slot": 0}
        record |= {"Last4Avg": 100.0, "Expected": 100.0, "Spread": 10.0, "PredictedDiff": value - 100.0}
        record |= {"PredictedPct": value - 100.0, "Anomalous": False, "BaselineVersion": 0, "Level": None, "Scale": None}
        record |= {"KafkaPartition": None, "KafkaOffset": None, "KafkaTimestamp": None}
        payload = io.BytesIO(self._header)
        payload.seek(0, io.SEEK_END)
        fastavro.schemaless_writer(payload, self._schema, record)
        sent = time.time() * 1000
        self._producer.produce(self._topic, payload.getvalue(), f"{service}|{round(at.timestamp() * 1000)}".encode())
        self._producer.poll(0)
        return sent

    def flush(self) -> None:
        self._producer.flush(20)


def slot(feed: Feed) -> dt.datetime:
    """The beginning of the interval of now."""
    seconds = int(time.time()) // feed.interval_seconds * feed.interval_seconds
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


def to_page(page: Page, url: str, feed: Feed, records: Records, seconds: float) -> list[float]:
    """Milliseconds from each record to the page. Raises TimeoutError if one of the last never came."""
    page.add_init_script(NOTE_FRAMES)
    records.send(SERVICES[0], slot(feed), 1)
    records.flush()
    page.goto(f"{url}/?feed={feed.name}&service={SERVICES[0]}&minutes=15")
    wait_for("the first record on the page", lambda: page.evaluate("'1' in globalThis.shownAt"))
    sent = {}
    for value in range(2, 2 + round(seconds / EVERY)):
        due = time.monotonic() + EVERY
        sent[value] = records.send(SERVICES[0], slot(feed), value)
        page.wait_for_timeout(max(0.0, 1000 * (due - time.monotonic())))
    wait_for("the last record on the page", lambda: page.evaluate(f"'{max(sent)}' in globalThis.shownAt"))
    shown = {int(value): at for value, at in page.evaluate("globalThis.shownAt").items()}
    return [shown[value] - at for value, at in sent.items() if value in shown]


def memory_of_listeners(port: int, process: psutil.Process, feed: Feed, records: Records, number: int) -> float:
    """Megabytes that so many open streams of events add to serving, while records come."""
    before = process.memory_info().rss
    request = f"GET /api/events?feed={feed.name}&service={SERVICES[0]} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    listeners = [socket.create_connection(("127.0.0.1", port)) for _ in range(number)]
    for listener in listeners:
        listener.sendall(request)
    until = time.monotonic() + SETTLE
    while time.monotonic() < until:
        records.send(SERVICES[0], slot(feed), 5)
        time.sleep(EVERY)
        for listener in listeners:
            listener.recv(1 << 20)
    added = process.memory_info().rss - before
    records.flush()
    for listener in listeners:
        listener.close()
    return added / 1e6


def measure(folder: Path, seconds: float, listeners: int) -> dict[tuple[str, str], float]:
    """Raises RuntimeError where there is no Chromium."""
    chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if chromium is None:
        raise RuntimeError("there is no chromium on the PATH: tests/chromium.sh installs it")
    feed = load_feed("service-use")
    with platform([topic for topic in declared_topics() if topic.name.partition(".")[0] == feed.name]) as instance:
        promote_large_baseline(instance, feed)
        records = Records(instance, feed)
        places = {"SUNDIAL_KAFKA": instance.kafka, "SUNDIAL_REGISTRY": instance.registry}
        places |= {"SUNDIAL_LAKE": str(instance.lake), "SUNDIAL_STREAMS": str(instance.streams)}
        with serving(places, folder / "live.log") as (port, process), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            took = to_page(browser.new_page(), f"http://127.0.0.1:{port}", feed, records, seconds)
            browser.close()
            added = memory_of_listeners(port, process, feed, records, listeners)
    found = {(f"events_to_page_{name}_ms", "ms"): float(np.percentile(took, at)) for name, at in (("p50", 50), ("p99", 99))}
    return found | {(f"{listeners}_listeners_mb", "MB"): added, ("events_shown", "records"): float(len(took))}
