"""One run, from an empty folder to its report."""

import argparse
import datetime as dt
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from confluent_kafka.schema_registry import SchemaRegistryClient

from bench.chaos import judged, others, place, report, stage
from bench.chaos.faults import Ground, befall
from bench.chaos.needs import Page
from bench.chaos.options import parser, streams, without
from bench.chaos.people import People
from bench.chaos.plan import FAULT, Event, plan
from bench.chaos.producers import Load
from bench.chaos.report import Outcome
from bench.platform import REPO, cores, say, wait_for
from contracts.feeds import load_feed
from stack.instance import Instance
from stack.parts import lifecycle
from stack.parts import streams as stack_streams
from stack.parts.streams import Stream
from supervision.files import parse_time
from tests.support.hostile import TEXTS

SERVICES = ("checkout", "login")  # the topic has two partitions, and one is in each
FEED = "service-use"
SHARE = 0.8  # of the records that go to the feed's topic
GIVEN_UP_EVERY = 5.0  # seconds between two looks at who was given up
PAGE = REPO / "docs" / "when-it-needs-you.md"


def main() -> int:
    options = parser().parse_args()
    say(f"seed {options.seed}; {cores()}; in {REPO}")
    with tempfile.TemporaryDirectory(prefix="stack-", dir=REPO.parent) as folder:
        path = Path(folder)
        with place.small_disk(path / "streams", place.has_small_disk()):
            instance = Instance(path).make(0)
            clock = place.set_clock(path, options.faketime) if options.faketime else None
            try:
                return Run(instance, options, clock).result()
            finally:
                lifecycle.down(instance, say)
                if options.report:
                    place.keep_logs(instance, options.report.with_suffix(".logs"))


@dataclass
class Run:
    instance: Instance
    options: argparse.Namespace
    clock: Path | None
    outcomes: list[Outcome] = field(default_factory=list)

    def result(self) -> int:
        lifecycle.up(self.instance, say)
        self.feed = load_feed(FEED)
        primed = stage.prime(self.instance, self.feed, SERVICES, self.options.seed)
        streams_ = {name: _stream(name) for name in streams(self.options)}
        self.ground = Ground(self.instance, streams_, self.clock)
        stage.begin(self.instance, list(streams_.values()))
        self.loads = self._loads(primed)
        main = self.loads[FEED]
        chance = random.Random(f"{self.options.seed} people")
        drafts = replace(self.readings, seed=self.options.seed + 1)
        self.people = People(self.ground, self.feed, main, drafts, primed, Page(PAGE), chance)
        self._through()
        say("all is sent; what waits is worked off")
        for load in self.loads.values():
            load.stop()
        ended = dt.datetime.now(dt.UTC)
        for stream in streams_.values():
            self._last(f"{stream.of} has done all", partial(self._done, stream, ended))
        self._last("a last night", self.people.night)
        say("judging")
        given = main.ledger.sent(), primed, self.options.tolerance, self.people.registered
        verdicts = [judged.feed(self.instance, self.feed, *given)]
        verdicts += [
            judged.events(self.instance, topic, load.ledger.sent(), self._applications())
            for topic, load in self.loads.items()
            if topic != FEED
        ]
        return report.printed(self.options, verdicts, self.outcomes, self.people.asked, without(self.options))

    def _last(self, what: str, do: Callable[[], str]) -> None:
        """What the judgement needs. Where it fails, that is a broken promise, and what there is is judged."""
        began, event = time.time(), Event(60 * self.options.minutes, "end", what)
        try:
            self.outcomes.append(Outcome(event, said=do(), seconds=time.time() - began))
        except Exception as error:  # see above
            self.outcomes.append(Outcome(event, problem=f"{type(error).__name__}: {error}"))
        say(f"{self.outcomes[-1]}")

    def _done(self, stream: Stream, since: dt.datetime) -> str:
        wait_for(f"{stream.of} without a lag", lambda: self._well(stream, since, 0), self.options.patience)
        return ""

    def _loads(self, primed: stage.Primed) -> dict[str, Load]:
        seed, texts = self.options.seed, list(TEXTS.values())
        self.readings = stage.readings(self.instance, self.feed, primed, seed, [text for text in texts if len(text) < 200])
        registry = SchemaRegistryClient({"url": self.instance.registry})
        drawn = {
            topic: draw
            for each in self._applications()
            for topic, draw in others.topics(seed, each, texts, lambda subject: registry.get_latest_version(subject).schema_id)
        }
        rate = self.options.rate * (SHARE if drawn else 1)
        loads = {FEED: Load(self.instance.kafka, FEED, rate, self.readings.drafts, seed)}
        for topic, draw in drawn.items():
            loads[topic] = Load(self.instance.kafka, topic, self.options.rate * (1 - SHARE) / len(drawn), draw, seed)
        return loads

    def _applications(self) -> list[str]:
        return [stream.of for stream in self.ground.streams.values() if stream.kind == "queries"]

    def _through(self) -> None:
        """The producers, and beside them faults and people, each of whom does one thing after the other."""
        seconds, began, over = 60 * self.options.minutes, time.time(), threading.Event()
        events = [] if self.options.calm else plan(self.options.seed, seconds, streams(self.options), without(self.options))
        for load in self.loads.values():
            load.start()
        do: list[tuple[Callable[[Event], Outcome], Sequence[Event]]] = [
            (self._fault, [each for each in events if each.who == FAULT]),
            (self._act, [each for each in events if each.who != FAULT]),
        ]
        threads = [threading.Thread(target=self._one_by_one, args=(*each, began), daemon=True) for each in do]
        keeper = threading.Thread(target=self._start_what_was_given_up, args=(over,), daemon=True)
        for thread in (*threads, keeper):
            thread.start()
        for thread in threads:
            thread.join()
        time.sleep(max(0.0, began + seconds - time.time()))
        over.set()
        keeper.join()

    def _one_by_one(self, do: Callable[[Event], Outcome], events: Sequence[Event], began: float) -> None:
        for event in events:
            time.sleep(max(0.0, began + event.at - time.time()))
            say(f"{event}")
            try:
                outcome = do(event)
            except Exception as error:  # whatever it is, it is a broken promise, and the run goes on
                outcome = Outcome(event, problem=f"{type(error).__name__}: {error}")
            self.outcomes.append(outcome)
            say(f"  {outcome}")

    def _fault(self, event: Event) -> Outcome:
        struck = time.time()
        part_back = befall(self.ground, event)
        later = dt.datetime.now(dt.UTC)  # what was measured before tells nothing of the fault
        stream = self.ground.streams[event.on if event.on in self.ground.streams else f"{FEED}.score"]
        few = 2 * self.options.rate
        wait_for(f"{stream.of} after {event}", lambda: self._well(stream, later, few), self.options.patience)
        return Outcome(event, time.time() - struck, time.time() - part_back)

    def _act(self, event: Event) -> Outcome:
        began = time.time()
        said = self.people.act(event)
        return Outcome(event, time.time() - began, said=said)

    def _start_what_was_given_up(self, over: threading.Event) -> None:
        """As docs/when-it-needs-you.md says of a stream that was given up."""
        while not over.wait(GIVEN_UP_EVERY):
            for stream in self.ground.streams.values():
                if stream.folder(self.instance).is_given_up():
                    self.people.asked.append(f"{stream.of} was given up")
                    try:
                        stack_streams.start(self.instance, stream, say)
                    except Exception as error:  # Airflow may be away: the next look tries again
                        say(f"{stream.of} was given up and does not start: {error}")

    def _well(self, stream: Stream, since: dt.datetime, few: int) -> bool:
        """It runs, and as measured after that instant, hardly anything waits."""
        seen = stream.status(self.instance)
        health = seen.heartbeat.get("health", {})
        measured = parse_time(health.get("measured_at"))
        most = 2 if stream.kind == "score" else 30  # seconds; queries work in batches
        known = seen.state == "running" and measured is not None and measured > since
        return known and health["lag_seconds"] < most and health["lag_records"] <= few


def _stream(name: str) -> Stream:
    of, _, kind = name.rpartition(".")
    return Stream(of, kind)  # type: ignore[arg-type] # "score" or "queries"


if __name__ == "__main__":
    sys.exit(main())
