"""What happens to one stack in the end-to-end tests of service-use, and how it is known that all of it was right.

`prime` makes what every test finds: five weeks of history, a stream, a first night. A test leaves more readings behind, perhaps
another baseline in force; one for which that matters begins with `calm`. So no order of the tests is needed.
"""

import datetime as dt
import itertools
import json
import threading
import time

import deltalake
import numpy as np
import pyarrow.compute as pc
import pytest
from confluent_kafka import Producer

from bench.chaos.approval import answer
from contracts.feeds import load_feed
from sources.producer import encoder
from sources.replay import play
from sources.simulator import Simulation
from stack.errors import StackError
from stack.instance import Instance
from stack.parts.airflow_api import ACTIVE, AirflowApi
from stack.parts.dag_run import watch
from supervision.files import StreamFolder
from supervision.status import StreamStatus, read_status
from tests.end_to_end import oracle
from tests.end_to_end.verifier import Verifier
from tests.support import topics
from tests.support.waiting import until

FEED = load_feed("service-use")
SERVICES = ["checkout", "login"]  # the topic has two partitions, and one is in each
HISTORY_DAYS = 35
DAY = 86_400_000
STREAM = f"{FEED.name}.score"
NIGHTLY = f"nightly_baseline.{FEED.name}"
SUPERVISION = f"supervise_streams.{FEED.name}"
ROLLBACK = f"rollback_baseline.{FEED.name}"
NIGHT = 1200  # seconds; generous, as nights are slow beside other work
NEAR = dt.timedelta(minutes=10)  # no test of nights takes longer
GARBAGE_EVERY = 7  # readings


class Story:
    """The stack, the verifier, and a producer of readings whose clock runs on by one interval with each round."""

    def __init__(self, instance: Instance):
        self.instance = instance
        self.api = AirflowApi(instance)
        self.now = dt.datetime.now(dt.UTC).replace(microsecond=0)
        self.now -= dt.timedelta(seconds=self.now.second % FEED.interval_seconds)
        self.corrected: set[dt.date] = set()
        self.played = 0  # readings
        options = {"bootstrap.servers": instance.kafka, "acks": "all", "enable.idempotence": True, "message.timeout.ms": 180_000}
        self.producer = Producer(options | {"partitioner": "murmur2_random"})
        self.failures: list[str] = []

    def prime(self) -> None:
        """History; a stream that scores before there is any baseline; the night that is due; the stream that goes by it."""
        until_ms = int(self.now.timestamp() * 1000)
        readings = Simulation(FEED, SERVICES, 7).readings(until_ms - HISTORY_DAYS * DAY, until_ms)
        report = play(readings, FEED, kafka=self.instance.kafka, registry=self.instance.registry)
        assert (report.failed, report.events) == (0, len(SERVICES) * HISTORY_DAYS * FEED.slots)
        self.verifier = Verifier(self.instance.kafka, self.instance.lake, topics.ends(self.instance.kafka, FEED.topic))
        self.api.unpause(SUPERVISION)
        until("the stream", lambda: self.stream().state == "running", 300)
        assert self.stream().heartbeat["baseline_version"] == -1
        self.play(rounds=6)
        self.all_judged()
        self.first_night = self.api.start(NIGHTLY)
        watch(self.api, NIGHTLY, self.first_night, print, NIGHT)
        self.first = self.promoted(self.first_night)
        self.check_content(self.first)
        self.sees(self.first)
        self.api.unpause(ROLLBACK)

    # -- the nights

    def today(self) -> dt.date:
        return dt.datetime.now(FEED.zone).date()

    def nightly(self, as_of: dt.date | None = None, **conf) -> str:
        """A night, today's unless said otherwise, that succeeds; raises StackError when a task fails. The run's id."""
        run = self.begin(NIGHTLY, as_of and str(as_of), **conf)
        watch(self.api, NIGHTLY, run, print, NIGHT)
        return run

    def refused(self, as_of: dt.date | None = None) -> tuple[str, StackError]:
        """A night whose candidate the gate refuses: the run's id, and what is said."""
        run = self.begin(NIGHTLY, as_of and str(as_of))
        with pytest.raises(StackError, match="gate refused candidate") as refused:
            watch(self.api, NIGHTLY, run, print, NIGHT)
        return run, refused.value

    def begin(self, dag: str, partition: str | None = None, **conf) -> str:
        """Triggers a run; its id. One that is still there would go first, perhaps for hours: a test has left it."""
        active = self.api.call("GET", f"dags/{dag}/dagRuns", params={"state": ACTIVE})["dag_runs"]
        assert not active, f"{dag} has a run already: {[(run['dag_run_id'], run['state']) for run in active]}"
        what = {"logical_date": None, "partition_key": partition, "conf": conf}
        return self.api.call("POST", f"dags/{dag}/dagRuns", json=what)["dag_run_id"]

    def answer(self, run: str, chosen: str, reason: str) -> None:
        """A person's answer to a night's task `approve`, once it asks; returns when the run has ended."""
        answer(self.api.call, self.instance, (NIGHTLY, run), chosen, reason, ends_within=300)

    def state_of(self, run: str) -> str:
        return self.api.call("GET", f"dags/{NIGHTLY}/dagRuns/{run}")["state"]

    def tasks(self, run: str) -> dict[str, str]:
        found = self.api.call("GET", f"dags/{NIGHTLY}/dagRuns/{run}/taskInstances")["task_instances"]
        return {task["task_id"]: task["state"] for task in found}

    # -- the baseline

    def commits(self) -> dict[int, dict]:
        """What promotions and rollbacks say of themselves, by the version that they made, newest first."""
        table = deltalake.DeltaTable(str(self.instance.lake / "baseline" / FEED.table))
        notes = {commit["version"]: json.loads(commit.get("userMetadata") or "{}") for commit in table.history()}
        return {version: note for version, note in notes.items() if "candidate_version" in note}  # not upkeep

    def promoted(self, run: str) -> int:
        """The version that a run promoted: exactly one."""
        [version] = [version for version, note in self.commits().items() if note.get("run_id") == run]
        return version

    def check_content(self, version: int) -> None:
        """A baseline that was promoted right now is what follows from the topic, in every slot of every day type."""
        self.verifier.look()
        note, stored = self.commits()[version], self.verifier.baseline(version)
        expected = oracle.baseline_of(self.verifier.history, dt.date.fromisoformat(note["as_of"]))
        assert stored.keys() == expected.keys() == set(itertools.product(SERVICES, range(1, 8)))
        for key, (averages, samples, spreads) in expected.items():
            assert stored[key][:2] == (averages, samples)
            assert stored[key][2] == [each if each is None else pytest.approx(each, rel=1e-12) for each in spreads]

    def roll_back(self, version: int, reason: str) -> int:
        """Another version is put in force again, and the stream goes by it; the version that this makes."""
        run = self.begin(ROLLBACK, version=version, reason=reason)
        watch(self.api, ROLLBACK, run, print, NIGHT)
        self.sees(made := self.promoted(run))
        return made

    def calm(self) -> None:
        """As after the first night: no correction stands, and what that night promoted is in force."""
        for date in sorted(self.corrected):
            self.correct(1, date)
        self.pass_the_schedule()
        newest, note = next(iter(self.commits().items()))
        if self.first not in (newest, note.get("rolled_back_to")):
            self.roll_back(self.first, "a test begins")
        self.all_judged()

    def pass_the_schedule(self) -> None:
        """Wait for the night that the schedule makes, if it goes on or is near: else it comes into the middle of the test."""
        due = dt.datetime.fromisoformat(self.api.call("GET", f"dags/{NIGHTLY}")["next_dagrun_run_after"])
        if due - dt.datetime.now(dt.UTC) < NEAR:
            until("the schedule makes its night", lambda: self._scheduled(run_after_gte=due.isoformat()), NEAR.seconds + 120)
        until("the night of the schedule has ended", lambda: not self._scheduled(state=ACTIVE), NIGHT)

    def _scheduled(self, **which) -> list[dict]:
        return self.api.call("GET", f"dags/{NIGHTLY}/dagRuns", params={"run_type": "scheduled"} | which)["dag_runs"]

    # -- the readings

    def correct(self, factor: float, date: dt.date | None = None, hours: int = 24) -> dt.date:
        """Corrections of a date's readings, by that factor: of the whole date, or from the time of day that is played now. Unless
        named, it is the newest past date like the one that is played now, so that a baseline made from it says otherwise."""
        here = self.now.astimezone(FEED.zone)
        date = date or oracle.dates_of(oracle.day_type(here.date()), self.today())[0]
        begin = dt.datetime.combine(date, dt.time() if hours == 24 else here.time(), FEED.zone).timestamp()
        midnight = dt.datetime.combine(date + dt.timedelta(days=1), dt.time(), FEED.zone).timestamp()
        end = midnight if hours == 24 else min(midnight, begin + hours * 3600)
        batches = Simulation(FEED, SERVICES, 7).readings(int(begin * 1000), int(end * 1000))
        other = (b.set_column(b.schema.get_field_index("Value"), "Value", _times(b.column("Value"), factor)) for b in batches)
        assert play(other, FEED, kafka=self.instance.kafka, registry=self.instance.registry).failed == 0
        self.corrected = self.corrected - {date} if factor == 1 else self.corrected | {date}
        return date

    def play(self, rounds: int, pause: float = 0.0) -> None:
        """Rounds of one reading per service: mostly normal, every fifth of checkout far too many; every seventh, garbage."""
        encode = encoder(FEED, self.instance.registry)
        normal = Simulation(FEED, SERVICES, 7)
        start = int(self.now.timestamp() * 1000)
        table = [row for batch in normal.readings(start, start + rounds * 10_000) for row in batch.to_pylist()]
        for number, row in enumerate(table):
            at, value = int(row["Timestamp"].timestamp() * 1000), row["Value"]
            if row["ServiceName"] == "checkout" and (at // 10_000) % 5 == 0:
                value = value * 3 + 1000
            payload = encode.encode(np.array([at]), np.array([value]))[0]
            self._send(row["ServiceName"], payload)
            if number % GARBAGE_EVERY == 0:
                garbage = [b"not Avro", payload[:7], b"\x00\x00\x0f\x42\x3f" + payload[5:]]  # the last: an unknown schema id
                self._send(row["ServiceName"], garbage[number // GARBAGE_EVERY % 3])
            self.played += 1
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

    def while_playing(self, act, rounds: int = 120) -> None:
        """Readings flow for some twenty seconds; when the first have been sent, something is done."""
        playing, before = threading.Thread(target=self.play, args=(rounds, 0.08)), self.played
        playing.start()
        until("readings flow", lambda: self.played > before + rounds / 3)
        try:
            act()
        finally:
            playing.join()
        assert not self.failures

    # -- the stream

    def stream(self) -> StreamStatus:
        return read_status(StreamFolder(self.instance.streams / STREAM))

    def sees(self, version: int) -> None:
        """Waits until the stream goes by that baseline; from then on none other will do."""
        until(f"baseline {version}", lambda: self.stream().heartbeat.get("baseline_version") == version, 300, self.stream)
        until("the stream", lambda: self.stream().state == "running", 300, self.stream)
        self.verifier.seen_in_force(version)

    def all_judged(self, seconds: float = 300) -> None:
        """Waits until the outputs are exactly what they must be; fails with the differences that remain."""
        until("all is judged", lambda: not self.verifier.differences(), seconds, lambda: self.verifier.differences()[:5])


def _times(values, factor: float):
    return pc.cast(pc.round(pc.multiply(pc.cast(values, "float64"), factor)), "int64")
