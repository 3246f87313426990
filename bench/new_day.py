"""Latency at 1,000/s while a new day begins: `make bench NAME=latency ARGS="--only new-day"`.

At midnight of its time zone, a feed needs the baseline of other day types; the driver takes it up by a handover. No clock is set:
a copy of the checkout declares the feed in the time zone whose next midnight is the first that leaves time to start.
"""

import datetime as dt
import re
import tempfile
import time
import zoneinfo
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.declared import declared, score_in
from bench.platform import driver, platform, promote_large_baseline, running, say, wait_for
from bench.stopwatch import WARM_UP, measure

START = 180.0  # seconds before midnight that the parts and the query have to start
BEFORE, AFTER = 30.0, 120.0  # measured seconds; within two minutes after midnight, a handover begins and ends


def run_new_day(results: dict) -> None:
    """Quantiles at 1,000/s around a midnight. Raises TimeoutError if no handover has taken up the new day."""
    zone, midnight = next_midnight(time.time() + START)
    say(f"the new day begins in {zone}, in {midnight - time.time():.0f} s")
    with tempfile.TemporaryDirectory(prefix="sundial-bench-") as folder, platform() as instance:
        feed = declared("service-use", Path(folder), in_zone(zone))
        promote_large_baseline(instance, feed)
        program = score_in(Path(folder))
        with driver(instance, program, "--feed", feed.name, repo=Path(folder)):
            wait_for("the query", running(instance, feed, "sundial"))
            time.sleep(max(0.0, midnight - WARM_UP - BEFORE - time.time()))
            latencies = measure(instance, feed, feed.anomalies_topic, 1000, BEFORE + AFTER)
            log = instance.logs / f"{program.stem}.log"
            wait_for("the handover to the new day", lambda: re.search("what changed: a new day", log.read_text()), 1)
    for name, quantile in (("p50", 50), ("p99", 99), ("p999", 99.9), ("worst", 100)):
        results.setdefault(("sundial", f"{name}_ms_new_day", "ms"), []).append(float(np.percentile(latencies, quantile)))


def next_midnight(earliest: float) -> tuple[str, float]:
    """The time zone that has the first midnight after this moment, and that midnight, both in epoch seconds."""
    midnights = {}
    for zone in zoneinfo.available_timezones():
        local = dt.datetime.fromtimestamp(earliest, zoneinfo.ZoneInfo(zone))
        tomorrow = local.date() + dt.timedelta(days=1)
        midnights[zone] = dt.datetime.combine(tomorrow, dt.time(), local.tzinfo).timestamp()
    return min(midnights.items(), key=lambda each: (each[1], each[0]))


def in_zone(zone: str) -> Callable[[str], str]:
    """Makes the declaration of a feed that of one in this time zone. Without holidays, each day needs day types that the day
    before did not."""

    def change(declaration: str) -> str:
        plain = re.sub(r"(?m)^holidays: .*\n", "", declaration)
        return re.sub(r"(?m)^timezone: .*$", f"timezone: {zone}", plain)

    return change
