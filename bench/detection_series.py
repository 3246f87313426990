"""Series without labelled incidents: cuts of the real captures in samples/, and generated ones like those that people watch.

A generated series imitates one kind of real series with its nuisances: heavy tails, plateaus, gaps, jobs that run each night,
wandering levels. None of these is an incident, so a detector that reports them raises false alarms.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.csv as csv

SAMPLES = Path(__file__).parent.parent / "samples"
DAY = 86_400
MONDAY = 4 * DAY  # 1970-01-05
START = MONDAY + 2300 * 7 * DAY  # a Monday of 2014


@dataclass(frozen=True)
class Series:
    """Readings of one service: times (epoch seconds, int64, ascending) and values (float64; NaN is a missing reading)."""

    name: str
    group: str  # counts or measurements
    interval: int  # seconds
    times: np.ndarray
    values: np.ndarray


def day_curve(times: np.ndarray, random: np.random.Generator, depth: float, weekend: float = 1.0) -> np.ndarray:
    """A factor around 1: low at night, two humps by day, and `weekend` times as high on Saturday and Sunday."""
    hour = times / 3600 % 24 - random.uniform(-2, 2)
    wave = np.sin((hour - 9) * np.pi / 12) + random.uniform(0, 0.5) * np.sin((hour - 4) * np.pi / 6)
    weekday = times // DAY + 3
    return np.exp(depth * wave) * np.where(weekday % 7 >= 5, weekend, 1.0)


def wander(random: np.random.Generator, rows: int, memory: float, spread: float) -> np.ndarray:
    """A first-order autoregression of that memory (in rows) and stationary standard deviation."""
    keep = np.exp(-1 / memory)
    steps = random.normal(0, spread * np.sqrt(1 - keep**2), rows)
    level, path = random.normal(0, spread), np.empty(rows)
    for row, each in enumerate(steps.tolist()):
        level = keep * level + each
        path[row] = level
    return path


def bursts(random: np.random.Generator, rows: int, rate: float, tail: float, memory: float) -> np.ndarray:
    """Pareto bursts, `rate` of them a row, each fading with that memory (in rows)."""
    height = np.where(random.random(rows) < rate, random.pareto(tail, rows), 0.0)
    keep, level, path = np.exp(-1 / memory), 0.0, np.empty(rows)
    for row, each in enumerate(height.tolist()):
        level = keep * level + each
        path[row] = level
    return path


def mentions(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Heavy-tailed counts with a daily cycle: how often people write of a company."""
    mean = 10 ** random.uniform(0.2, 1.8) * day_curve(times, random, random.uniform(0.2, 0.7), random.uniform(0.5, 1.0))
    mean *= 1 + bursts(random, len(times), random.uniform(0.002, 0.01), random.uniform(1.6, 2.5), random.uniform(2, 8))
    mean *= np.exp(wander(random, len(times), 600, 0.15))
    shape = random.uniform(2, 6)
    return random.negative_binomial(shape, shape / (shape + mean)).astype(float)


def few(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Small counts: errors, sign-ups, mostly zero to three."""
    mean = random.uniform(0.2, 2.0) * day_curve(times, random, random.uniform(0.1, 0.6))
    mean *= 1 + bursts(random, len(times), 0.002, 1.8, 3)
    return random.poisson(mean * random.gamma(3, 1 / 3, len(times))).astype(float)


def demand(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Large counts with strong days and weeks, and days that differ a little in height."""
    days = (times - times[0]) // DAY
    height = np.exp(random.normal(0, 0.05, days.max() + 1))[days]
    mean = 10 ** random.uniform(3, 4.3) * day_curve(times, random, random.uniform(0.4, 0.8), random.uniform(0.6, 1.1)) * height
    return np.rint(mean * np.exp(wander(random, len(times), 8, 0.05)))


def processor(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """CPU percent: plateaus of jobs over a noisy floor, sometimes nearly idle; two or three decimals."""
    rows = len(times)
    job = np.cumsum(random.random(rows) < random.choice([0.0, 0.0005, 0.002]))
    plateau = random.gamma(2, random.uniform(0.5, 12), job.max() + 1)[job]
    noise = wander(random, rows, random.uniform(1, 20), 1.0) * random.uniform(0.02, 3)
    spikes = np.where(random.random(rows) < random.choice([0.0, 0.003, 0.02]), random.gamma(1.5, 8, rows), 0)
    nightly = np.where(times % DAY // 900 == 8, random.choice([0.0, 15.0]), 0.0)
    daily = random.choice([0.0, 0.4]) * np.log(day_curve(times, random, 0.5)) * 10
    digits = int(random.integers(1, 4))
    return np.clip(np.round(random.uniform(0.5, 50) + plateau + noise + spikes + nightly + daily, digits), 0, 100)


def network(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Bytes: a base with log-normal noise and bursts of transfers over some orders of magnitude."""
    rows = len(times)
    base = 10 ** random.uniform(4, 7) * np.exp(random.normal(0, random.uniform(0.05, 0.4), rows))
    moved = 1 + random.uniform(1, 10) * bursts(
        random, rows, random.uniform(0.001, 0.03), random.uniform(1.5, 3), random.uniform(0.5, 6)
    )
    hourly = np.where((times // 300) % 12 == 3, random.choice([1.0, 1.0, 3.0]), 1.0)
    return np.round(base * moved * hourly * day_curve(times, random, random.choice([0.0, 0.2])), int(random.integers(0, 2)))


def disk(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Bytes written: mostly nothing, and now and then a flush; sometimes for hours on end."""
    rows = len(times)
    flush = np.where(random.random(rows) < random.uniform(0.02, 0.3), random.gamma(1.0, 10 ** random.uniform(4, 6), rows), 0)
    busy = bursts(random, rows, 0.0008, 2.0, random.uniform(5, 30)) * 10 ** random.uniform(5, 6)
    return np.round(flush + np.where(busy > 1e4, busy * random.gamma(4, 0.25, rows), 0), 1)


def balancer(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Requests at a load balancer, as an average that is not whole."""
    mean = random.uniform(20, 300) * day_curve(times, random, random.uniform(0.3, 0.9), random.uniform(0.7, 1))
    mean *= 1 + 0.5 * bursts(random, len(times), 0.004, 2.2, 2)
    return random.poisson(mean) * random.choice([1.0, 0.5])


def price(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Cost per click or per thousand views: small positive numbers, skewed, with spikes of one row."""
    level = 10 ** random.uniform(-1.3, 0.6) * np.exp(wander(random, len(times), 200, 0.15))
    noise = random.gamma(20, 1 / 20, len(times)) * day_curve(times, random, random.uniform(0, 0.25))
    spike = np.where(random.random(len(times)) < 0.001, 1 + random.pareto(2.0, len(times)), 1.0)
    return np.round(level * noise * spike, 6)


def speed(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Speed on a road: whole numbers near free flow, with jams at rush hours, of which some are long."""
    rows, hour = len(times), times / 3600 % 24
    workday = (times // DAY + 3) % 7 < 5
    jam = workday * np.exp(-(((hour - random.choice([8, 17])) / 0.8) ** 2)) * random.uniform(5, 30)
    day = (times - times[0]) // DAY
    jam = jam * random.gamma(4, 0.25, day.max() + 1)[day]
    free = random.uniform(55, 75)
    return np.clip(np.rint(free - jam + wander(random, rows, 3, random.uniform(1.5, 4))), 2, 90)


def occupancy(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Share of time that a road sensor is covered, in percent, skewed."""
    mean = random.uniform(2, 8) * day_curve(times, random, random.uniform(0.4, 0.9), 0.7)
    return np.round(mean * np.exp(wander(random, len(times), 3, random.uniform(0.15, 0.35))), 2)


def travel(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Travel times in seconds: a floor, rush hours, and heavy upper tails of single rows."""
    rush = day_curve(times, random, random.uniform(0.2, 0.5), 0.8)
    tail = np.where(random.random(len(times)) < 0.03, random.pareto(1.8, len(times)), 0)
    return np.rint(random.uniform(60, 400) * (0.7 + 0.3 * rush) * np.exp(wander(random, len(times), 4, 0.08)) * (1 + tail))


def temperature(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Temperature of a machine or a room: it drifts for hours and days, with small noise; a machine dips when it pauses."""
    rows = len(times)
    path = (
        random.uniform(50, 95)
        + wander(random, rows, 1500, random.uniform(2, 5))
        + wander(random, rows, 60, random.uniform(0.5, 2))
    )
    daily = random.choice([0.0, 2.0]) * np.sin(times * 2 * np.pi / DAY)
    pause = bursts(random, rows, random.choice([0.0, 0.0007]), 3.0, 20) * 6
    return path + daily + random.normal(0, random.uniform(0.05, 0.6), rows) - pause


def latency(times: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Milliseconds of a service or a machine's vibration: negative never, noise that grows by day."""
    load = day_curve(times, random, random.uniform(0, 0.4))
    return np.round(
        random.uniform(5, 80) * (1 + 0.2 * load * random.gamma(2, 0.5, len(times))) + wander(random, len(times), 100, 1), 3
    )


Generator = Callable[[np.ndarray, np.random.Generator], np.ndarray]
COUNTS: dict[str, tuple[Generator, int]] = {"mentions": (mentions, 300), "few": (few, 300), "demand": (demand, 1800)}
MEASUREMENTS: dict[str, tuple[Generator, int]] = {
    "processor": (processor, 300),
    "network": (network, 300),
    "disk": (disk, 300),
    "balancer": (balancer, 300),
    "price": (price, 3600),
    "speed": (speed, 300),
    "occupancy": (occupancy, 300),
    "travel": (travel, 300),
    "temperature": (temperature, 300),
    "latency": (latency, 300),
}
UNEVEN = {"speed", "occupancy", "travel"}


def generated(kind: str, number: int) -> Series:
    """The series of that kind and number: always the same."""
    make, interval = (COUNTS | MEASUREMENTS)[kind]
    group = "counts" if kind in COUNTS else "measurements"
    random = np.random.default_rng([*kind.encode(), number])
    rows = int(random.integers(3500, 4600)) if group == "measurements" else int(random.integers(4000, 6500))
    if interval == 3600:
        rows = int(random.integers(1400, 1800))
    times = START + int(random.integers(0, 7)) * DAY + interval * np.arange(rows)
    if kind in UNEVEN:  # reports come late or not at all, and whole hours are missing
        kept = (random.random(rows) > random.uniform(0.05, 0.4)) & (wander(random, rows, 40, 1.0) < 1.5)
        times = times[kept]
    return Series(f"{kind}-{number}", group, interval, times, make(times, random))


def world_cup(number: int) -> Series:
    """Requests in five minutes over two of the tournament's weeks; the matches' own surges are in it."""
    table = csv.read_csv(SAMPLES / "worldcup98_requests_per_minute.csv.gz")
    seconds = table["period"].cast("timestamp[s]").to_numpy().astype("datetime64[s]").astype(np.int64)
    bins, of_row = np.unique(seconds // 300, return_inverse=True)
    counts = np.bincount(of_row, table["count"].to_numpy().astype(float))
    part = (bins * 300 >= bins[0] * 300 + (7 + 9 * number) * DAY) & (bins * 300 < bins[0] * 300 + (21 + 9 * number) * DAY)
    return Series(f"world-cup-{number}", "counts", 300, bins[part] * 300, counts[part])


def road_traffic(number: int) -> Series:
    """Cars per hour on the interstate over about half a year, local time read as if it were UTC; holidays are in it."""
    table = csv.read_csv(SAMPLES / "metro_interstate_traffic_volume.csv.gz")
    seconds = table["date_time"].to_numpy().astype("datetime64[s]").astype(np.int64)
    times, first = np.unique(seconds, return_index=True)
    values = table["traffic_volume"].to_numpy().astype(float)[first]
    rows = slice(3000 + 4500 * number, 3000 + 4500 * (number + 1))
    return Series(f"road-traffic-{number}", "counts", 3600, times[rows], values[rows])


def all_series(sealed: bool, each: int = 4) -> Iterator[Series]:
    """One half of the set: even numbers to develop with, odd ones sealed until the final table."""
    for number in range(int(sealed), 2 * each, 2):
        for kind in (*COUNTS, *MEASUREMENTS):
            yield generated(kind, number)
        if number < 6:
            yield world_cup(number)
            yield road_traffic(number)
