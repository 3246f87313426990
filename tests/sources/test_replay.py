"""Readings into a topic: what arrives, when, and what is reported."""

import io
import threading
import time
from types import SimpleNamespace

import fastavro
import numpy as np
import pytest

from contracts import avro
from contracts.feeds import load_feed
from sources import producer
from sources import replay as module
from sources.producer import Acks, PlatformError
from sources.readings import batch
from sources.replay import Pace, play

START = 1_790_000_000_000


def readings(count: int, services: tuple[str, ...] = ("a", "b", "ü"), start: int = START):
    rows = np.arange(count)
    names = [services[row % len(services)] for row in rows]
    return [batch(names, start + 10_000 * (rows // len(services)), rows * 3)]


def decoded(value: bytes, schema_id: int) -> tuple[int, int]:
    assert value[:5] == b"\x00" + schema_id.to_bytes(4, "big")
    record = fastavro.schemaless_reader(io.BytesIO(value[5:]), avro.parsed("service_use_record"))
    return round(record["Timestamp"].timestamp() * 1000), record["Value"]


def test_every_reading_arrives_once_under_its_services_key_in_order(platform):
    report = play(readings(9_001), platform.feed, kafka=platform.kafka, registry=platform.registry)
    assert (report.events, report.delivered, report.failed, report.stopped) == (9_001, 9_001, 0, False)
    assert (report.first, report.last) == (START, START + 10_000 * 3000)
    arrived = {}
    for key, value in platform.messages(9_001):
        arrived.setdefault(key, []).append(decoded(value, platform.schema_id))
    expected = {
        name: [(START + 10_000 * (row // 3), row * 3) for row in range(first, 9_001, 3)] for first, name in enumerate("abü")
    }
    assert arrived == expected


def test_progress_hears_of_every_event(platform):
    class Count:
        events = 0

        def advance(self, events):
            self.events += events

    count = Count()
    play(readings(5_000), platform.feed, kafka=platform.kafka, registry=platform.registry, progress=count)
    assert count.events == 5_000


def test_a_reading_is_due_at_the_end_of_its_interval_on_the_faster_clock():
    pace = Pace(speed=10, interval_ms=10_000, origin_ms=START, started=100.0)
    assert pace.due(np.array([START - 10_000, START, START + 10_000])).tolist() == [100.0, 101.0, 102.0]


def test_a_late_reading_is_not_due_before_the_one_in_front_of_it():
    pace = Pace(speed=1, interval_ms=10_000, origin_ms=START, started=0.0)
    assert pace.due(np.array([START, START - 50_000, START + 10_000])).tolist() == [10.0, 10.0, 20.0]


class Clock(threading.Event):
    """The wall clock of a play, and what stops it: time passes only while it waits. Notes when how many events were sent."""

    def __init__(self, monkeypatch, now: float, end: float = float("inf")):
        super().__init__()
        self.now, self.end, self.sent = now, end, []
        monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: self.now, monotonic=time.monotonic))

    def wait(self, timeout: float | None = None) -> bool:
        self.now += timeout
        if self.now >= self.end:
            self.set()
        return self.is_set()

    def advance(self, events: int) -> None:
        self.sent.append((pytest.approx(self.now, abs=1e-3), events))


def test_a_paced_play_sends_each_interval_when_it_is_due(platform, monkeypatch):
    clock, there = Clock(monkeypatch, 100.0), {"kafka": platform.kafka, "registry": platform.registry}
    report = play(readings(60, ("a", "b")), platform.feed, speed=20, **there, progress=clock, stop=clock)
    assert (report.delivered, report.stopped) == (60, False)
    assert clock.sent == [(100.0 + 0.5 * interval, 2) for interval in range(30)]  # of 10 s each, at 20 times real time


def test_live_readings_already_due_go_out_at_once_and_the_rest_waits(platform, monkeypatch):
    now = START / 1000 + 3
    clock, there = Clock(monkeypatch, now, now + 8), {"kafka": platform.kafka, "registry": platform.registry}
    rows = readings(10, ("a",), start=START - 50_000)
    report = play(rows, platform.feed, speed=1, **there, origin_ms=round(now * 1000), progress=clock, stop=clock)
    assert (report.delivered, report.stopped) == (6, True)
    assert clock.sent == [(now, 5), (START / 1000 + 10, 1)]
    assert len(platform.messages(6)) == 6


def test_a_stop_at_full_speed_flushes_what_was_produced(platform):
    stop = threading.Event()

    def endless():
        while True:
            yield readings(1_000)[0]
            stop.set()

    report = play(endless(), platform.feed, kafka=platform.kafka, registry=platform.registry, stop=stop)
    assert (report.stopped, report.failed) == (True, 0)
    assert len(platform.messages(report.delivered)) == report.events


def test_what_kafka_does_not_acknowledge_is_counted_as_failed(platform, monkeypatch):
    monkeypatch.setattr(module, "FLUSH_SECONDS", 1)

    def broker_gone_before_the_first():
        platform.broker.close()
        yield from readings(100)

    report = play(broker_gone_before_the_first(), platform.feed, kafka=platform.kafka, registry=platform.registry)
    assert (report.events, report.failed, report.delivered) == (100, 100, 0)
    assert report.first_error == "not acknowledged within 1 s of the end"


def test_an_event_that_kafka_refuses_is_counted_and_explained(platform, monkeypatch):
    class Vast(producer.ReadingEncoder):
        def encode(self, milliseconds, values):
            return [value + bytes(2_000_000 if row == 1 else 0) for row, value in enumerate(super().encode(milliseconds, values))]

    monkeypatch.setattr(producer, "ReadingEncoder", Vast)
    report = play(readings(3), platform.feed, kafka=platform.kafka, registry=platform.registry)
    assert (report.events, report.failed, report.delivered) == (3, 1, 2)
    assert "size too large" in report.first_error
    assert sorted(key for key, _ in platform.messages(2)) == ["a", "ü"]


@pytest.mark.parametrize("acks", list(Acks))
def test_events_arrive_whoever_confirms_them(platform, acks):
    report = play(readings(300), platform.feed, kafka=platform.kafka, registry=platform.registry, acks=acks)
    assert (report.delivered, report.acks) == (300, acks)
    assert len(platform.messages(300)) == 300


def test_a_subject_that_is_not_registered(platform, registry):
    registry[1].clear()
    with pytest.raises(PlatformError, match=r"subject service-use-value is not registered at .*sundial schemas register"):
        play(readings(1), platform.feed, kafka=platform.kafka, registry=platform.registry)


def test_a_topic_that_does_not_exist_is_named_and_not_created(platform, registry):
    feed = load_feed("world-cup")
    registry[1]["/subjects/world-cup-value/versions/latest"] = registry[1]["/subjects/service-use-value/versions/latest"]
    for _ in range(2):
        with pytest.raises(PlatformError, match="no topic world-cup at"):
            play(readings(1), feed, kafka=platform.kafka, registry=platform.registry)


def test_no_registry_and_no_broker_answer(platform, monkeypatch):
    monkeypatch.setattr("sources.producer.LOOK_UP_SECONDS", 1)
    with pytest.raises(PlatformError, match=r"no registry answers at http://127.0.0.1:1 "):
        play(readings(1), platform.feed, kafka=platform.kafka, registry="http://127.0.0.1:1")
    with pytest.raises(PlatformError, match=r"no Kafka broker answers at 127.0.0.1:1 "):
        play(readings(1), platform.feed, kafka="127.0.0.1:1", registry=platform.registry)


def test_addresses_come_from_the_environment_or_are_asked_for(platform, monkeypatch):
    monkeypatch.setenv("SUNDIAL_KAFKA", platform.kafka)
    monkeypatch.setenv("SUNDIAL_REGISTRY", platform.registry)
    assert play(readings(3), platform.feed).delivered == 3
    monkeypatch.delenv("SUNDIAL_KAFKA")
    with pytest.raises(PlatformError, match="give --kafka or set SUNDIAL_KAFKA"):
        play(readings(1), platform.feed)
