"""The stack of a run before anything happens to it: a month of history, a first baseline, streams that run."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.chaos.records import Readings
from bench.platform import say, wait_for
from contracts.feeds import Feed
from sources.producer import encoder
from sources.readings import milliseconds
from sources.replay import play
from sources.simulator import Simulation
from stack.instance import Instance
from stack.parts.airflow_api import AirflowApi
from stack.parts.dag_run import watch
from stack.parts.streams import Stream

HISTORY_DAYS = 30  # four of each weekday, as two of one may be holidays and two are needed
NIGHT = 3600.0  # seconds; nights are slow beside other work
DAY = 86_400_000  # milliseconds
PRESENT = 900.0  # seconds until a stream runs, on a busy machine


@dataclass(frozen=True)
class Primed:
    """What the feed's topic had before the run: its readings in the order of their sending. normal: of today, by service."""

    service: np.ndarray
    at: np.ndarray
    value: np.ndarray
    names: list[str]
    normal: dict[str, np.ndarray]
    midnight: int


def midnight(feed: Feed, days_back: int = 0) -> int:
    """Of today where the feed lives, epoch milliseconds."""
    date = dt.datetime.now(feed.zone).date() - dt.timedelta(days=days_back)
    return int(dt.datetime.combine(date, dt.time(), feed.zone).timestamp() * 1000)


def prime(instance: Instance, feed: Feed, names: Sequence[str], seed: int) -> Primed:
    """History, and the first night, which promotes a first baseline."""
    simulation, today = Simulation(feed, names, seed), midnight(feed)
    batches = list(simulation.readings(midnight(feed, HISTORY_DAYS), today))
    report = play(iter(batches), feed, kafka=instance.kafka, registry=instance.registry)
    if report.failed:
        raise RuntimeError(f"{report.failed} readings of the past were not acknowledged: {report.first_error}")
    say(f"{report.events:,} readings of the past are in {feed.topic}")
    night(instance, feed)
    number = {name: index for index, name in enumerate(names)}
    service = np.concatenate([[number[name] for name in batch.column("ServiceName").to_pylist()] for batch in batches])
    at = np.concatenate([milliseconds(batch) for batch in batches])
    value = np.concatenate([batch.column("Value").to_numpy() for batch in batches])
    here = {name: _of_day(batches, number[name], service, value, feed.slots) for name in names}
    return Primed(service.astype(np.int64), at, value, list(names), here, today)


def _of_day(batches, number: int, service: np.ndarray, value: np.ndarray, slots: int) -> np.ndarray:
    """A service's values of the same weekday a week ago, slot by slot: normal ones for today."""
    of_service = value[service == number]
    return np.resize(of_service[-7 * slots :][:slots], slots)


def night(instance: Instance, feed: Feed) -> str:
    """A nightly run, or the one that is due; raises StackError if it fails. Its id."""
    api, dag = AirflowApi(instance), f"nightly_baseline.{feed.name}"
    run = api.start(dag)
    watch(api, dag, run, say, NIGHT)
    return run


def begin(instance: Instance, streams: Sequence[Stream]) -> None:
    """Switch the streams on, and wait until they run."""
    api = AirflowApi(instance)
    for stream in streams:
        api.unpause(stream.dag)
    for stream in streams:
        wait_for(stream.dag, lambda stream=stream: stream.state(instance) == "running", PRESENT)


def readings(instance: Instance, feed: Feed, primed: Primed, seed: int, texts: Sequence[str]) -> Readings:
    """Drafts for the feed, by the newest schema that is registered."""
    written = encoder(feed, instance.registry)
    number = int.from_bytes(written.header[1:], "big")
    return Readings(
        seed,
        primed.normal,
        feed.interval_seconds,
        primed.midnight,
        int(dt.datetime.now(dt.UTC).timestamp() * 1000),
        days(feed.most_ahead),
        days(feed.oldest),
        feed.longest_service,
        {number: b""},
        texts,
    )


def days(duration: str) -> int:
    count, unit = duration.split()
    if not unit.startswith("day"):
        raise ValueError(f"{duration}: a limit of the feed in another unit than days")
    return int(count)
