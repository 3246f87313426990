"""What happens to one stack in the end-to-end tests, and how it is known that all of it was right."""

import datetime as dt
import json
import threading
import time

import deltalake
import numpy as np
import pyarrow.compute as pc
from confluent_kafka import Consumer, Producer, TopicPartition

from contracts.feeds import load_feed
from contracts.run_state import RunState, observe
from sources.replay import play
from sources.simulator import Simulation
from sources.topic import encoder
from stack.airflow_api import ENDED, AirflowApi
from stack.home import Home
from tests.end_to_end.verifier import Verifier

FEED = load_feed("service-use")
SERVICES = ["checkout", "search"]
HISTORY_DAYS = 35
STREAM = f"{FEED.name}.score"
NIGHTLY = f"nightly_baseline.{FEED.name}"


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

    def nightly(self, as_of: str | None = None) -> str:
        return self.trigger(NIGHTLY, partition=as_of)

    def trigger(self, dag: str, partition: str | None = None, **conf) -> str:
        """Triggers a run and waits for its success; raises StackError when a task fails. The run's id."""
        run = self.begin(dag, partition, **conf)
        self.api.watch(dag, run, print, 600)
        return run

    def begin(self, dag: str, partition: str | None = None, **conf) -> str:
        """Triggers a run; its id."""
        what = {"logical_date": None, "partition_key": partition, "conf": conf}
        return self.api.call("POST", f"dags/{dag}/dagRuns", json=what)["dag_run_id"]

    def newest_run(self, dag: str) -> str:
        return self.api.call("GET", f"dags/{dag}/dagRuns", params={"order_by": "-run_after", "limit": 1})["dag_runs"][0][
            "dag_run_id"
        ]

    def answer(self, dag: str, run: str, chosen: str, reason: str) -> None:
        """A person's answer to the task `approve`, once it asks."""
        path = f"dags/{dag}/dagRuns/{run}/taskInstances/approve"
        await_("the question", lambda: self.api.call("GET", path)["state"] in ("awaiting_input", "deferred"), 60)
        # A script can answer before the scheduler has taken note that the task waits, and Airflow then fails the task.
        time.sleep(5)
        said = {"chosen_options": [chosen], "params_input": {"reason": reason}}
        self.api.call("PATCH", f"{path}/-1/hitlDetails", json=said)
        await_("the end of the run", lambda: self.api.call("GET", f"dags/{dag}/dagRuns/{run}")["state"] in ENDED, 120)

    def promotions(self) -> list[dict]:
        """What the commits of the baseline say, newest first."""
        table = deltalake.DeltaTable(str(self.home.lake / "baseline" / FEED.table))
        return [json.loads(commit["userMetadata"]) for commit in table.history()]

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

    def load_a_day_that_is_otherwise(self) -> None:
        """Corrections of all readings of the last complete day: ten times as many."""
        midnight = dt.datetime.combine(self.now.astimezone(FEED.zone).date(), dt.time(), FEED.zone).astimezone(dt.UTC)
        start = int((midnight - dt.timedelta(days=1)).timestamp() * 1000)
        batches = Simulation(FEED, SERVICES, 7).readings(start, start + 86_400_000)
        tenfold = (b.set_column(b.schema.get_field_index("Value"), "Value", pc.multiply(b.column("Value"), 10)) for b in batches)
        assert play(tenfold, FEED, kafka=self.home.kafka, registry=self.home.registry).failed == 0

    def stream(self) -> RunState:
        return observe(self.home.streams / STREAM)

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
