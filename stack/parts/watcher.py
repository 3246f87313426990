"""The process that starts ended parts of the stack again. Started last and stopped first, it ends with the stack.

It looks at every part that was started and not stopped, once a second. When and whether a part is started again is decided in
`restarts`. `sundial status` shows what it writes to restarts.json; its log has every restart.
"""

import contextlib
import datetime as dt
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial

from contracts.alerts import VARIABLES
from stack.errors import Busy, tail
from stack.instance import ROOT, Instance, default_path
from stack.parts import airflow, alerts, kafka, live, process, registry, samples, serving
from stack.parts.restarts import History, Limits, Observation, Start, Wait, decide

NAME = "watcher"
STATE = "restarts.json"
LOOK_EVERY = 1.0  # seconds
SILENT_AFTER = 60.0  # seconds without a look after which the watcher is unhealthy: health checks of several parts take a while
TOLD = 8  # lines of an ended part's log that are copied


@dataclass(frozen=True)
class Watched:
    """A part that is started again. part: may be costly. needs: parts that must be healthy before it starts."""

    part: Callable[[], process.Part]
    healthy: Callable[[], bool]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Restarts:
    """Of one part, since the watcher was started. last, due: seconds since the epoch. due, lacks: of a part that has ended."""

    restarts: int = 0
    last: float | None = None
    due: float | None = None
    lacks: tuple[str, ...] = ()


def watched(instance: Instance) -> dict[str, Watched]:
    """By name, in the order in which they start. Kafka Connect is not among them."""
    brokers = tuple(kafka.names(instance))
    found = {
        name: Watched(partial(kafka.part, instance, broker), partial(kafka.healthy, instance, broker))
        for broker, name in zip(instance.brokers, brokers, strict=True)
    }
    found[registry.NAME] = Watched(partial(registry.part, instance), partial(registry.healthy, instance), brokers)
    for name in airflow.COMPONENTS:
        found[name] = Watched(partial(_airflow, instance, name), partial(airflow.healthy, instance, name))
    found[serving.NAME] = Watched(partial(serving.part, instance), partial(serving.healthy, instance))
    data = (*brokers, registry.NAME)
    found[alerts.NAME] = Watched(partial(alerts.part, instance), partial(alerts.healthy, instance), data)
    found[live.NAME] = Watched(partial(live.part, instance), partial(live.healthy, instance), data)
    for sample in samples.SAMPLES:
        playing = partial(live.healthy, instance, sample.name)
        found[sample.name] = Watched(partial(samples.part, instance, sample), playing, data)
    return found


def _airflow(instance: Instance, name: str) -> process.Part:
    return airflow.part(instance, name, airflow.process_environment(instance))


def part(instance: Instance) -> process.Part:
    return process.Part(
        name=NAME,
        command=[sys.executable, "-m", "stack.parts.watcher"],
        environment=instance.process_environment(VARIABLES) | alerts.variables(instance),  # for the parts that it starts
        healthy=lambda: healthy(instance),
        prepare=lambda: (instance.path / STATE).unlink(missing_ok=True),
        folder=ROOT,
    )


def start(instance: Instance) -> None:
    """Or start it again, if `alerts` has got other values since: it would start that without them."""
    if alerts.outdated(instance, NAME):
        process.stop(instance, NAME)
    process.start(instance, part(instance))
    process.wait(instance, part(instance))


def healthy(instance: Instance) -> bool:
    """It has looked a moment ago."""
    return process.find(instance, NAME) is not None and time.time() - _read(instance).get("at", 0.0) < SILENT_AFTER


def restarts(instance: Instance) -> dict[str, Restarts]:
    """Of each part that was started again or is about to be. Nothing is about to be where no watcher lives."""
    parts = {name: Restarts(**values) for name, values in _read(instance).get("parts", {}).items()}
    if process.find(instance, NAME):
        return parts
    return {name: replace(each, due=None, lacks=()) for name, each in parts.items()}


def _read(instance: Instance) -> dict:
    with contextlib.suppress(FileNotFoundError):
        return json.loads((instance.path / STATE).read_text())
    return {}


def _write(instance: Instance, parts: Mapping[str, Restarts]) -> None:
    draft = instance.runs / f".{STATE}.tmp"
    draft.write_text(json.dumps({"at": time.time(), "parts": {name: asdict(each) for name, each in parts.items()}}))
    draft.replace(instance.path / STATE)


@dataclass
class Watcher:
    """say: where it tells what it does. clock: seconds, monotonic."""

    say: Callable[[str], None]
    limits: Limits = field(default_factory=Limits)
    clock: Callable[[], float] = time.monotonic
    told: dict[str, Restarts] = field(default_factory=dict)
    _histories: dict[str, History] = field(default_factory=dict)

    def look(self, instance: Instance, parts: Mapping[str, Watched]) -> None:
        """Look once at each part that is recorded, start those that are due, and write down what a person should know."""
        recorded = process.recorded(instance)
        for name in [name for name in parts if name in recorded]:
            self._look(instance, name, parts)
        for name in self._histories.keys() - set(recorded):  # a command has stopped it
            del self._histories[name]
            self.told.pop(name, None)
        _write(instance, self.told)

    def _look(self, instance: Instance, name: str, parts: Mapping[str, Watched]) -> None:
        before = self._histories.get(name, History())
        seen = self._observe(instance, name, parts, before)
        history, action = decide(before, seen, self.limits)
        if history.deaths > before.deaths:
            self.say(f"{name} has ended. Its log ends:\n{tail(process.log_file(instance, name), TOLD)}")
        if isinstance(action, Start) and not self._start(instance, name, parts[name]):
            return  # a command is starting or stopping the stack: look again
        self._histories[name] = history
        told = replace(self.told.get(name, Restarts()), due=None, lacks=())
        if isinstance(action, Wait):
            told = replace(told, due=time.time() + action.seconds, lacks=action.lacks)
        elif isinstance(action, Start):
            told = replace(told, restarts=told.restarts + 1, last=time.time())
        if told != Restarts():
            self.told[name] = told

    def _observe(self, instance: Instance, name: str, parts: Mapping[str, Watched], history: History) -> Observation:
        """Health is asked for only where it decides something."""
        at, alive = self.clock(), process.find(instance, name) is not None
        if alive:
            return Observation(at, alive, healthy=history.deaths > 0 and parts[name].healthy())
        return Observation(at, alive, lacks=tuple(each for each in parts[name].needs if not parts[each].healthy()))

    def _start(self, instance: Instance, name: str, each: Watched) -> bool:
        """Whether it was tried: not while a command starts or stops the stack, and not what a command has stopped meanwhile."""
        try:
            part = each.part()
            with instance.locked(patience=0):
                if name not in process.recorded(instance):
                    return False
                if process.start(instance, part):
                    self.say(f"{name} is started again")
        except Busy:
            return False
        except Exception as error:  # whatever is wrong with one part, the others are looked after
            self.say(f"{name} could not be started: {error}")
        return True


def _say(text: str) -> None:
    print(f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M:%S} UTC {text}", flush=True)


def main() -> None:
    """Look until the stack's folder is gone: `sundial down` ends this process before all others."""
    watcher, path = Watcher(_say), default_path()
    while (instance := Instance(path)).exists():
        with contextlib.suppress(OSError):  # a full disk, say: once there is room again, the next look succeeds
            watcher.look(instance, watched(instance))
        time.sleep(LOOK_EVERY)


if __name__ == "__main__":
    main()
