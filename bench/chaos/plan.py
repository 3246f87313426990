"""What happens in a run, and when. Pure: the seed, the length and the streams decide it.

Each fault and each act of a person is a card. The cards are shuffled and dealt one after the other, and then shuffled again: so a
long run has each of them, and a short run has a choice that its seed decides.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

FAULT, PERSON = "fault", "person"
# Of a stream's driver.
DRIVER_FAULTS = ("driver_python", "driver_jvm", "driver", "driver_python_stops", "driver_jvm_stops")
# Of a part: it is killed, and the watcher starts it again.
KILLED_PARTS = (
    "airflow-triggerer",
    "airflow-scheduler",
    "airflow-api-server",
    "airflow-dag-processor",
    "registry",
    "serving",
    "kafka",
)
# Of the stack: it lasts some seconds, and then goes away by itself.
LASTING = {"broker_out": 60.0, "part_stops": 25.0, "disk_full": 30.0, "clock_ahead": 20.0, "clock_back": 20.0}
PARTS_THAT_STOP = ("airflow-triggerer", "airflow-scheduler", "registry", "serving", "kafka")
PAIR = "two_at_once"
ACTS = (
    *("promote", "refuse_and_approve", "roll_back", "pause", "clear"),
    *("add_feed", "deploy_schema", "restart_serving"),
)
OF_A_STREAM = ("pause", "clear")  # of the acts
CLOCK_STEP = 45.0  # seconds
BEGINS, ENDS = 20.0, 30.0  # seconds without an event at the beginning and at the end


@dataclass(frozen=True)
class Event:
    """at: seconds since the run's beginning. what: a fault or an act. on: the stream or part that it befalls. seconds: it lasts.
    both: of two faults at once, each of them."""

    at: float
    who: str
    what: str
    on: str = ""
    seconds: float = 0.0
    both: tuple["Event", ...] = ()

    def __str__(self) -> str:
        lasts = f" for {self.seconds:.0f} s" if self.seconds else ""
        parts = f": {' and '.join(_bare(each) for each in self.both)}" if self.both else ""
        return f"{self.at:7.1f} s  {self.who:6}  {_bare(self)}{lasts}{parts}"


def _bare(event: Event) -> str:
    return f"{event.what} {event.on}".strip()


def plan(seed: int, seconds: float, streams: Sequence[str], without: Sequence[str] = ()) -> list[Event]:
    """All events in order of time. streams: those that run, `<of>.<stream>`. without: faults that this machine cannot have."""
    chance = random.Random(f"{seed} plan")
    every = min(100.0, max(30.0, seconds / 8))  # seconds between two faults, on average
    faults = _dealt(chance, [*DRIVER_FAULTS, *(f"kill {part}" for part in KILLED_PARTS), *LASTING, PAIR])
    acts = _dealt(chance, ACTS)
    found = [
        _fault(chance, at, next(each for each in faults if each not in without), streams, without)
        for at in _times(chance, seconds, every)
    ]
    for at in _times(chance, seconds, 1.3 * every):
        act = next(acts)
        found.append(Event(at, PERSON, act, chance.choice(streams) if act in OF_A_STREAM else ""))
    return sorted(found, key=lambda event: event.at)


def _times(chance: random.Random, seconds: float, every: float) -> Iterator[float]:
    at = round(BEGINS + chance.uniform(0, every / 2), 1)
    while at < seconds - ENDS:
        yield at
        at = round(at + chance.uniform(every / 2, every * 3 / 2), 1)


def _dealt(chance: random.Random, cards: Sequence[str]) -> Iterator[str]:
    while True:
        yield from chance.sample(list(cards), len(cards))


def _fault(chance: random.Random, at: float, what: str, streams: Sequence[str], without: Sequence[str]) -> Event:
    if what == PAIR:
        cards = [*DRIVER_FAULTS, *(f"kill {part}" for part in KILLED_PARTS), *LASTING]
        pair = chance.sample([each for each in cards if each not in without], 2)
        both = tuple(_fault(chance, at, each, streams, without) for each in pair)
        return Event(at, FAULT, PAIR, seconds=max(each.seconds for each in both), both=both)
    if what in DRIVER_FAULTS:
        return Event(at, FAULT, what, chance.choice(streams))
    if what.startswith("kill "):
        return Event(at, FAULT, "kill", what.removeprefix("kill "))
    return Event(at, FAULT, what, chance.choice(PARTS_THAT_STOP) if what == "part_stops" else "", LASTING[what])
