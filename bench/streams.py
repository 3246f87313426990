"""Stateful streams: at which rate of events a system's lag begins to grow, and whether its memory stays as it is.

Jobs: `summaries` (5-minute pre-aggregates of 2,000 metrics, re-keyed, 10-minute summaries), `windows` (count and sum per metric
and minute), `join` (requests with their responses, by key, within a minute). Each is given rising rates; the last at which what
waits in the system did not grow is `summaries_events_per_s`, `windows_per_s`, `join_per_s` (events of both topics). With it go
what came out (`summaries_per_s`, `<job>_out_per_s`), CPU seconds per million events, and the state on the disk. In the end all
that was sent is looked for in the output: where `<job>_missing` is not 0, some was lost or counted twice, and the exit code is 1.

`rss_mb_start` and `rss_mb_end`: memory of the system's processes a minute after the start of another run of the summaries, and at
the end of it, at an even rate; medians of five looks, a look each five seconds. The load is sent from the benchmark's process,
so on the same cores. `<job>_others_cores`: the cores that were busy with what is not the benchmark's; where that is not near 0,
the figures are those of a busy machine.
"""

import argparse
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.kafka_streams import KafkaStreams
from bench.metrics import JOBS, SUMMARIES, Job, Load, counted, ends
from bench.platform import Others, cores, figure, platform, say, wait_for
from bench.sundial_queries import QUERIES, SundialQueries
from bench.systems import System
from contracts.declared_topics import query_topics
from contracts.queries import load_queries
from stack.instance import Instance

SYSTEMS = {system.name: system for system in (SundialQueries, KafkaStreams)}
RATES = (25_000, 50_000, 75_000, 100_000, 125_000, 150_000, 200_000, 250_000)
SETTLE = 10.0  # seconds at a new rate before it is measured
LOOK = 0.4  # seconds between two looks; not the rhythm in which a system commits
GROWTH, GIVEN = 0.02, 0.95  # shares of the rate: that the lag may grow by, and that the load must have sent
BEHIND = 8.0  # seconds of events that may wait after the warm-up: a batch every five seconds leaves that many
WARM, CATCH_UP = 90.0, 300.0


@dataclass(frozen=True)
class Step:
    """One rate, measured. The lag swings with the commits, so it grows by its lowest of the first and of the last third."""

    rate: int
    sent: float
    growth: float
    lag: float
    out: float
    cpu: float
    others: float

    @property
    def kept_up(self) -> bool:
        return self.growth <= GROWTH * self.rate

    @property
    def given(self) -> bool:
        return self.sent >= GIVEN * self.rate


@dataclass(frozen=True)
class Bench:
    """A system at work on one job, and its load."""

    instance: Instance
    job: Job
    system: System
    load: Load

    def out(self) -> int:
        return sum(last for _, last in ends(self.instance, self.job.output))

    def step(self, rate: int, seconds: float) -> Step:
        self.load.rate = rate
        time.sleep(SETTLE)
        begin, sent, out, cpu = time.perf_counter(), self.load.sent, self.out(), self.system.cpu_seconds()
        lags, others = [], Others()
        while (now := time.perf_counter() - begin) < seconds:
            lags.append(self.system.lag())
            time.sleep(LOOK)
        busy, third = others.cores(), len(lags) // 3
        growth = (min(lags[-third:]) - min(lags[:third])) / (now * 2 / 3)
        sent, out = self.load.sent - sent, self.out() - out
        cpu = (self.system.cpu_seconds() - cpu) / (sent - lags[-1] + lags[0]) * 1e6
        step = Step(rate, sent / now, growth, statistics.median(lags[-third:]), out / now, cpu, busy)
        say(f"  {self.job.name} {json.dumps({field: round(value, 2) for field, value in vars(step).items()})}")
        return step

    def warm_up(self, rate: int) -> None:
        """Waits until it has made up for its start, in which classes load and code compiles; but not for ever."""
        self.load.rate, end = rate, time.monotonic() + WARM
        time.sleep(SETTLE)
        while self.system.lag() > BEHIND * rate and time.monotonic() < end:
            time.sleep(1)

    def finish(self) -> int:
        """Waits until all is done; how many of the events sent are missing in the output (below 0: counted twice)."""
        self.load.rate = 0
        self.load.stop()
        wait_for(f"the end of {self.job.name}", lambda: self.system.lag() == 0, CATCH_UP)
        return self.load.sent - counted(self.instance, self.job, self.system.schema)


@contextmanager
def bench(name: str, job: Job, speed: float) -> Iterator[Bench]:
    with platform(query_topics(load_queries(QUERIES).values())) as instance:
        system = SYSTEMS[name](instance, job)
        load = Load(instance.kafka, job, speed, system.schema_id)
        try:
            system.start()
            yield Bench(instance, job, system, load)
        finally:
            load.rate = 0
            system.stop()


def rising(name: str, job: Job, options: argparse.Namespace, results: dict) -> Step | None:
    """The last rate at which the system kept up."""
    last = None
    with bench(name, job, options.speed) as at:
        at.warm_up(options.rates[0])
        for rate in options.rates:
            step = at.step(rate, options.seconds)
            if not step.kept_up:  # it may have been a neighbour's doing
                step = at.step(rate, options.seconds)
            if not step.kept_up:
                break
            last, state = step, at.system.state_mb()
            if not step.given:
                say(f"  the load gave no more than {step.sent:,.0f}/s: the system might have taken more")
                break
        missing = at.finish()
    results[f"{job.name}_missing", "events"] = [missing]
    if last:
        inputs, out = (
            ("summaries_events_per_s", "summaries_per_s") if job is SUMMARIES else (f"{job.name}_per_s", f"{job.name}_out_per_s")
        )
        results[inputs, "events/s"] = [last.sent]
        results[out, "records/s"] = [last.out]
        results[f"{job.name}_cpu_s_per_million", "s"] = [last.cpu]
        results[f"{job.name}_state_mb", "MB"] = [state]
        results[f"{job.name}_others_cores", "cores"] = [last.others]
    return last


def steady(name: str, options: argparse.Namespace, rate: int, results: dict) -> None:
    """Memory, state and lag of the summaries over minutes at one rate; the first minute is for the start."""
    looks, others = [], Others()
    with bench(name, SUMMARIES, options.speed) as at:
        at.load.rate, begin = rate, time.monotonic()
        while (age := time.monotonic() - begin) < 60 * options.minutes:
            looks.append((age, at.system.rss_mb(), at.system.lag()))
            time.sleep(5)
        sent, state = at.load.sent / age, at.system.state_mb()
        busy = others.cores()
        missing = at.finish()
    warm, lags = zip(*[look[1:] for look in looks if look[0] >= min(60, 30 * options.minutes)], strict=True)
    results["steady_events_per_s", "events/s"] = [sent]
    say(f"  memory by minute, MB: {', '.join(f'{median:,.0f}' for median in _by_minute(looks))}")
    results["rss_mb_start", "MB"] = [statistics.median(warm[:5])]
    results["rss_mb_end", "MB"] = [statistics.median(warm[-5:])]
    results["rss_mb_max", "MB"] = [max(warm)]
    results["state_mb_end", "MB"] = [state]
    results["lag_max", "events"] = [max(lags)]
    results["steady_others_cores", "cores"] = [busy]
    results["steady_missing", "events"] = [missing]


def _by_minute(looks: list[tuple[float, float, int]]) -> list[float]:
    """The median of what was looked at (age in seconds, MB, lag) in each minute."""
    minutes = itertools.groupby(looks, key=lambda look: look[0] // 60)
    return [statistics.median(mb for _, mb, _ in each) for _, each in minutes]


def some_of(known: Iterable[str]) -> Callable[[str], list[str]]:
    """Parses names with commas between them."""

    def parse(text: str) -> list[str]:
        if unknown := set(text.split(",")) - set(known):
            raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: not among {', '.join(known)}")
        return text.split(",")

    return parse


def rates(text: str) -> list[int]:
    return sorted(int(each) for each in text.split(","))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=some_of(SYSTEMS), default=list(SYSTEMS), help=f"default {','.join(SYSTEMS)}")
    parser.add_argument("--jobs", type=some_of(JOBS), default=list(JOBS), help=f"default {','.join(JOBS)}")
    parser.add_argument("--rates", type=rates, default=RATES, help=f"events a second (default {','.join(map(str, RATES))})")
    parser.add_argument("--seconds", type=float, default=30, help="measured at each rate (default 30)")
    parser.add_argument("--minutes", type=float, default=10, help="of the run at an even rate, 0 for none (default 10)")
    parser.add_argument("--steady-rate", type=int, default=100_000, help="its rate, if summaries reach it (default 100000)")
    parser.add_argument("--speed", type=float, default=10, help="of event time, against the clock's (default 10)")
    return parser.parse_args()


def measured(name: str, options: argparse.Namespace) -> dict[tuple[str, str], list[float]]:
    """All figures of one system, by metric and unit."""
    results: dict[tuple[str, str], list[float]] = {}
    for job in options.jobs:
        if job not in SYSTEMS[name].jobs:
            say(f"{name} has no {job}")
            continue
        say(f"{name}: {job}")
        last = rising(name, JOBS[job], options, results)
        if JOBS[job] is SUMMARIES and last and options.minutes:
            rate = min(options.steady_rate, last.rate)
            say(f"{name}: {options.minutes:g} minutes at {rate:,}/s")
            steady(name, options, rate, results)
    return results


def main() -> int:
    options = arguments()
    say(cores())
    wrong = False
    for name in options.systems:
        for (metric, unit), values in measured(name, options).items():
            figure("streams", name, metric, values, unit)
            wrong |= metric.endswith("missing") and values[0] != 0
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
