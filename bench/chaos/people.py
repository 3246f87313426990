"""What people do in a run, through Airflow, the command's functions, the registry and the declarations."""

import json
import random
import time
from dataclasses import dataclass, field

import httpx
import numpy as np
from confluent_kafka.schema_registry import SchemaRegistryClient

from bench.chaos import read
from bench.chaos.approval import answer
from bench.chaos.faults import Ground
from bench.chaos.needs import Page
from bench.chaos.plan import Event
from bench.chaos.producers import Load
from bench.chaos.records import DAY, Readings, zigzag
from bench.chaos.stage import Primed
from bench.platform import say, wait_for
from contracts import avro
from contracts.declarations import SCHEMAS
from contracts.feeds import Feed
from stack.deploy import schemas
from stack.errors import StackError
from stack.parts import lifecycle, process, serving
from stack.parts.airflow_api import ACTIVE, AirflowApi
from stack.parts.dag_run import watch

NIGHT = 3600.0  # seconds; nights are slow beside other work
PAUSE = 20.0  # seconds that a DAG is paused
SHOWN = 300.0  # seconds until serving shows what was declared
REFUSED = "gate refused candidate"
TRIES = 5  # of what a fault may have interrupted


@dataclass
class People:
    """asked: messages because of which the run did what docs/when-it-needs-you.md says. registered: by id,
    when a schema of the feed's topic was registered, in seconds since the epoch."""

    ground: Ground
    feed: Feed
    load: Load
    readings: Readings
    primed: Primed
    page: Page
    chance: random.Random
    asked: list[str] = field(default_factory=list)
    registered: dict[int, float] = field(default_factory=dict)

    def act(self, event: Event) -> str:
        """Do it; what came of it, in words. Raises StackError where it failed for a reason that the page does not name."""
        for attempt in range(TRIES):
            try:
                return getattr(self, f"_{event.what}")(event)
            except (StackError, httpx.TransportError, TimeoutError) as error:
                if attempt == TRIES - 1 or not self._named(error):
                    raise
                time.sleep(20)
        raise AssertionError("unreachable")

    def night(self) -> str:
        """A night through, with what it asks of people."""
        dag = f"nightly_baseline.{self.feed.name}"
        return self._through(dag, self._begin(dag, {}))

    # -- acts

    def _promote(self, _: Event) -> str:
        self._correct(1 + self.chance.uniform(0.02, 0.1), slots=360)
        return self.night()

    def _refuse_and_approve(self, _: Event) -> str:
        self._correct(self.chance.uniform(4, 8), slots=self.feed.slots)
        return self.night()

    def _roll_back(self, _: Event) -> str:
        table = self.ground.instance.lake / "baseline" / self.feed.table
        version = self.chance.choice([version for version, _, _ in read.promotions(table)][:-1] or [None])
        if version is None:
            return "nothing to roll back to"
        dag = f"rollback_baseline.{self.feed.name}"
        conf = {"version": version, "reason": "an act of the run"}
        return f"to version {version}: {self._through(dag, self._begin(dag, conf))}"

    def _pause(self, event: Event) -> str:
        dag = self.ground.streams[event.on].dag
        self._api().pause(dag)
        time.sleep(PAUSE)
        self._api().unpause(dag)
        return f"{dag} for {PAUSE:.0f} s"

    def _clear(self, event: Event) -> str:
        api, dag = self._api(), self.ground.streams[event.on].dag
        runs = api.call("GET", f"dags/{dag}/dagRuns", params={"order_by": "-run_after", "limit": 1})["dag_runs"]
        api.call("POST", f"dags/{dag}/clearTaskInstances", json=_clearing(runs[0]["dag_run_id"], only_failed=False))
        return f"the task of {dag}"

    def _add_feed(self, event: Event) -> str:
        name = f"chaos-{event.at:.0f}"
        declared = (SCHEMAS / "feeds" / f"{self.feed.name}.yaml").read_text().replace(f"name: {self.feed.name}", f"name: {name}")
        (SCHEMAS / "feeds" / f"{name}.yaml").write_text(declared)
        lifecycle.deploy(self.ground.instance, say)
        address = f"{self.ground.instance.api}/api/feeds"

        def shown() -> bool:
            try:
                return name in httpx.get(address, timeout=10).text
            except httpx.TransportError:
                return False

        wait_for(f"{name} in serving", shown, SHOWN)
        return f"{name} is declared, deployed, and shown by serving"

    def _deploy_schema(self, _: Event) -> str:
        """A new version with one more field, which half of the readings are written with from now on."""
        client = SchemaRegistryClient({"url": self.ground.instance.registry})
        newest = max(self.readings.ids)
        subject = avro.subject(self.feed.topic)
        there = json.loads(client.get_latest_version(subject).schema.schema_str)
        number = 1 + len(there["fields"])
        there["fields"].append({"name": f"More{number}", "type": "long", "default": 0})
        found = schemas.register_one(client, subject, json.dumps(there), avro.contract(self.feed.record).compatibility)
        self.registered[found] = time.time()
        self.readings.ids[found] = self.readings.ids[newest] + zigzag(number)
        return f"schema {found} of {subject}"

    def _restart_serving(self, _: Event) -> str:
        with self.ground.instance.locked(patience=120):
            process.stop(self.ground.instance, serving.NAME)
            serving.start(self.ground.instance)
        return "serving answers again"

    # -- nights

    def _correct(self, factor: float, slots: int) -> None:
        """Corrections of all services' readings of one day of the past, from midnight on."""
        back = self.chance.randrange(1, 8)
        begin = self.primed.midnight - back * DAY
        which = (self.primed.at >= begin) & (self.primed.at < begin + slots * self.feed.interval_seconds * 1000)
        names, values = self.primed.names, np.round(self.primed.value[which] * factor).astype(np.int64)
        rows = zip(self.primed.service[which].tolist(), self.primed.at[which].tolist(), values.tolist(), strict=True)
        self.load.send([self.readings.reading(names[service], at, value, "correction") for service, at, value in rows])

    def _begin(self, dag: str, conf: dict) -> str:
        """A run's id; one that is active already goes on instead."""
        api = self._api()
        api.unpause(dag)
        active = api.call("GET", f"dags/{dag}/dagRuns", params={"state": ACTIVE})["dag_runs"]
        return active[0]["dag_run_id"] if active and not conf else api.trigger(dag, conf)

    def _through(self, dag: str, run: str) -> str:
        """Watch a run to its end: a refused candidate is approved, what has failed for a reason of the page's is cleared."""
        did, deadline = [], time.monotonic() + NIGHT
        while time.monotonic() < deadline:
            try:
                watch(self._api(), dag, run, lambda _: None, NIGHT)
                return ", ".join([f"{run} succeeded", *did])
            except httpx.TransportError:
                time.sleep(5)
            except StackError as error:
                if REFUSED in str(error) and self._answered(dag, run):
                    return ", ".join([f"{run} was refused and approved", *did])
                if not self._named(error):
                    raise
                did.append("cleared")
                time.sleep(20)
                self._call("POST", f"dags/{dag}/clearTaskInstances", json=_clearing(run))
        raise StackError(f"{dag} {run} has not ended after {NIGHT:.0f} s", remedy="see its tasks")

    def _answered(self, dag: str, run: str) -> bool:
        """Whether the run ends well once its candidate is approved."""
        state = answer(self._call, self.ground.instance, (dag, run), "Approve", "an act of the run", NIGHT)
        return state == "success"

    # -- Airflow

    def _api(self) -> AirflowApi:
        return AirflowApi(self.ground.instance)

    def _call(self, method: str, path: str, **more) -> dict:
        """As AirflowApi.call, again and again while a fault keeps Airflow from answering."""
        deadline = time.monotonic() + NIGHT
        while True:
            try:
                return self._api().call(method, path, **more)
            except (StackError, httpx.TransportError) as error:
                if time.monotonic() > deadline or not self._named(error):
                    raise
                time.sleep(5)

    def _named(self, error: Exception) -> bool:
        """Whether the page has it, or it is a connection that broke; it is noted then."""
        if isinstance(error, httpx.TransportError | TimeoutError):
            return True
        self.asked += (named := self.page.names(str(error)))
        return bool(named)


def _clearing(run: str, only_failed: bool = True) -> dict:
    return {"dry_run": False, "dag_run_id": run, "only_failed": only_failed, "reset_dag_runs": True}
