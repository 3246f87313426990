"""The main job on real parts: history, nightly baseline through Airflow, supervised scoring, and SIGKILL to each part of it.

The tests of this file are one story on one stack and run in order.
"""

import datetime as dt
import os
import signal
import threading
import time

import numpy as np
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from contracts.feeds import load_feed
from sources.replay import play
from sources.simulator import Simulation
from sources.topic import encoder
from stack import lifecycle, process, streams
from stack.airflow_api import AirflowApi
from stack.errors import StackError
from stack.home import Home
from tests.end_to_end.verifier import Verifier

pytestmark = pytest.mark.timeout(900)
FEED = load_feed("service-use")
SERVICES = ["checkout", "search"]
HISTORY_DAYS = 35
STREAM = f"{FEED.name}.score"


def ends(home: Home) -> dict[int, int]:
    reader = Consumer({"bootstrap.servers": home.kafka, "group.id": "ends"})
    found = {p: reader.get_watermark_offsets(TopicPartition(FEED.topic, p), timeout=10)[1] for p in range(FEED.partitions)}
    reader.close()
    return found


def await_(what: str, holds, seconds: float) -> float:
    """Seconds until `holds()` is true; fails naming what did not come."""
    begin = time.monotonic()
    while not holds():
        assert time.monotonic() - begin < seconds, f"{what}: not within {seconds:.0f} s"
        time.sleep(0.25)
    return time.monotonic() - begin


class Story:
    """The stack, the verifier, and a producer of readings whose clock runs on by one interval with each round."""

    def __init__(self, home: Home):
        self.home = home
        self.api = AirflowApi(home)
        self.now = dt.datetime.now(dt.UTC).replace(microsecond=0)
        self.now -= dt.timedelta(seconds=self.now.second % FEED.interval_seconds)
        self.verifier: Verifier | None = None
        options = {"bootstrap.servers": home.kafka, "acks": "all", "enable.idempotence": True, "message.timeout.ms": 180_000}
        self.producer = Producer(options | {"partitioner": "murmur2_random"})
        self.failures: list[str] = []

    def load_history(self) -> None:
        until = int(self.now.timestamp() * 1000)
        simulation = Simulation(FEED, SERVICES, 7)
        readings = simulation.readings(until - HISTORY_DAYS * 86_400_000, until)
        report = play(readings, FEED, kafka=self.home.kafka, registry=self.home.registry)
        assert (report.failed, report.events) == (0, len(SERVICES) * HISTORY_DAYS * FEED.slots)
        holidays = set(FEED.holiday_dates(dt.date(2020, 1, 1), dt.date(2035, 12, 31)))
        self.verifier = Verifier(self.home.kafka, self.home.lake, ends(self.home), holidays)

    def nightly(self, **conf) -> None:
        run = self.api.call("POST", "dags/nightly_baseline/dagRuns", json={"logical_date": None, "conf": conf})["dag_run_id"]
        self.api.watch("nightly_baseline", run, print, 600)

    def play(self, rounds: int, pause: float = 0.0) -> None:
        """Rounds of one reading per service: mostly normal, every fifth of checkout far too many; every seventh, garbage."""
        encode = encoder(FEED, self.home.registry)
        normal = Simulation(FEED, SERVICES, 7)
        start = int(self.now.timestamp() * 1000)
        table = [row for batch in normal.readings(start, start + rounds * 10_000) for row in batch.to_pylist()]
        for number, row in enumerate(table):
            at, value = int(row["Timestamp"].timestamp() * 1000), row["Value"]
            if row["ServiceName"] == "checkout" and (at // 10_000) % 5 == 0:
                value = value * 3 + 1000
            payload = encode.encode(np.array([at]), np.array([value]))[0]
            self._send(row["ServiceName"], payload)
            if number % 7 == 0:
                garbage = [b"not Avro", payload[:7], b"\x00\x00\x0f\x42\x3f" + payload[5:]]  # the last: an unknown schema id
                self._send(row["ServiceName"], garbage[number // 7 % 3])
            time.sleep(pause)
        self.now += dt.timedelta(seconds=10 * rounds)
        assert self.producer.flush(180) == 0
        assert not self.failures

    def _send(self, service: str, payload: bytes) -> None:
        def delivered(error, message):
            if error:
                self.failures.append(str(error))

        self.producer.produce(FEED.topic, payload, service.encode(), on_delivery=delivered)
        self.producer.poll(0)

    def stream(self) -> streams.Stream:
        return streams.observe(self.home.streams / STREAM)

    def all_judged(self, seconds: float = 90) -> None:
        """Waits until the outputs are exactly what they must be; fails with the differences that remain."""
        end = time.monotonic() + seconds
        while (differences := self.verifier.differences()) and time.monotonic() < end:
            time.sleep(1)
        assert not differences, f"{len(differences)} differences, e.g. {differences[:5]}"

    def kill_while_playing(self, kill, rounds: int = 120) -> None:
        """Readings flow for some twenty seconds; a few seconds in, something is killed."""
        playing = threading.Thread(target=self.play, args=(rounds, 0.08))
        playing.start()
        time.sleep(4)
        kill()
        playing.join()
        assert not self.failures


@pytest.fixture(scope="module")
def story(platform_stack) -> Story:
    return Story(platform_stack)


def test_history_becomes_a_promoted_baseline_through_airflow(story):
    story.load_history()
    story.api.unpause("nightly_baseline")
    story.api.watch("nightly_baseline", story.api.begin("nightly_baseline", {"feeds": [FEED.name]}), print, 600)
    assert (story.home.lake / "baseline" / FEED.table / "_delta_log").is_dir()


def test_exactly_the_expected_anomalies_come_out(story):
    story.api.unpause("supervise_streams")
    await_("the stream", lambda: story.stream().state == "running", 180)
    story.play(rounds=60)
    story.all_judged()
    assert story.verifier.counts() == {"readings": 120, "garbage": 18}


def test_the_driver_is_killed_and_every_reading_is_judged(story):
    killed = story.stream().pid

    def kill():
        os.kill(killed, signal.SIGKILL)

    story.kill_while_playing(kill)
    await_("another driver", lambda: story.stream().state == "running" and story.stream().pid != killed, 120)
    story.all_judged()


@pytest.mark.parametrize("part", ["kafka", "registry"])
def test_a_part_is_killed_and_every_reading_is_judged(story, part):
    def kill():
        process.find(story.home, part).kill()
        time.sleep(3)
        lifecycle.up(story.home, print)

    story.kill_while_playing(kill)
    await_("the stream", lambda: story.stream().state == "running", 180)
    story.all_judged(180)


def test_a_refused_candidate_leaves_the_baseline_in_force_and_the_stream_scoring(story):
    early = (story.now - dt.timedelta(days=HISTORY_DAYS - 3)).date().isoformat()  # three days of history: most day types missing
    with pytest.raises(StackError, match="gate refused candidate") as refused:
        story.nightly(feeds=[FEED.name], as_of=early)
    assert "expect_column_values_to_be_in_set(column=Lost" in str(refused.value)
    assert story.stream().heartbeat["baseline_version"] == 0
    story.play(rounds=20)
    story.all_judged()


def test_a_promotion_reaches_the_running_stream_without_losing_a_reading(story):
    driver = story.stream().pid
    playing = threading.Thread(target=story.nightly, kwargs={"feeds": [FEED.name]})
    playing.start()
    while playing.is_alive():
        story.play(rounds=10, pause=0.1)
    playing.join()
    await_("the new baseline", lambda: story.stream().heartbeat["baseline_version"] == 1, 30)
    await_("the stream", lambda: story.stream().state == "running", 60)
    story.play(rounds=20)
    story.all_judged()
    assert story.stream().pid == driver
