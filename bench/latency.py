"""Latency from producing a reading to consuming its anomaly, and the rate at which 2,000,000 waiting readings are scored.

Systems: `floor` (produce and consume on the same broker, nothing between), `sundial` (jobs/score.py in real-time mode, handing
over each minute) and `microbatch` (the same transform in micro-batch mode). At 1,000/s a baseline is promoted, a schema is
registered, and the producer begins to write by it. Then 20/s are measured again (`…_20_warm`), with compiled code. Avro in and
out, baseline of 200 services x 7 day types x 8,640 slots.

`--only promotions` measures `sundial` at 1,000/s while five baselines are promoted, for a feed that goes by the robust normal
(`…_promotions`). `--only new-day` does so while a new day begins (`…_new_day`). It waits for a midnight: up to an hour.
"""

import argparse
import contextlib
import json

import numpy as np
from confluent_kafka.schema_registry import SchemaRegistryClient

from bench.drain import run_drain
from bench.new_day import run_new_day
from bench.platform import (
    PROGRAMS,
    cores,
    driver,
    figure,
    platform,
    promote_again,
    promote_large_baseline,
    running,
    say,
    wait_for,
)
from bench.promotions import run_promotions
from bench.stopwatch import Stopwatch, measure
from contracts import avro
from contracts.avro import Level
from contracts.feeds import Feed, load_feed
from stack.deploy.schemas import register_one
from stack.instance import Instance

PARTS = ("latency", "drain")


def started_and_changed(instance: Instance, system: str) -> list[str]:
    """What the driver's log says of its queries; empty for a system without a driver."""
    if system == "floor":
        return []
    lines = (instance.logs / f"{PROGRAMS[system].stem}.log").read_text().splitlines()
    return [line for line in lines if line.startswith("query ")]


def register(instance: Instance, feed: Feed) -> None:
    """A schema with one field more, which its readers do not need."""
    schema = avro.latest(feed.record)
    fields = [*schema["fields"], {"name": "Region", "type": "string", "default": "here"}]
    client = SchemaRegistryClient({"url": instance.registry})
    register_one(client, avro.subject(feed.topic), json.dumps(schema | {"fields": fields}), Level.FULL)


def run_latency(system: str, seconds: float, long: float, results: dict) -> None:
    """Quantiles at 20/s for `seconds`, at 1,000/s for `long` seconds, with the acts, and at 20/s again."""
    feed = load_feed("service-use")
    with platform() as instance:
        promote_large_baseline(instance, feed)
        topic = feed.topic if system == "floor" else feed.anomalies_topic
        with contextlib.nullcontext() if system == "floor" else driver(instance, PROGRAMS[system], "--feed", feed.name):
            if system != "floor":
                wait_for("the query", running(instance, feed, system))
            low = measure(instance, feed, topic, 20, seconds)
            acts = [] if system == "floor" else [lambda _: promote_again(instance, feed), lambda _: register(instance, feed)]
            high = measure(instance, feed, topic, 1000, long, *acts, *([Stopwatch.write_by_the_newest_schema] if acts else []))
            warm = measure(instance, feed, topic, 20, seconds)
        for line in started_and_changed(instance, system):
            say(line)
    for part, latencies in (("20", low), ("1000", high), ("20_warm", warm)):
        for name, quantile in (("p50", 50), ("p95", 95), ("p99", 99), ("p999", 99.9), ("worst", 100)):
            results.setdefault((system, f"{name}_ms_{part}", "ms"), []).append(float(np.percentile(latencies, quantile)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each system, in turn (default 3)")
    parser.add_argument("--seconds", type=float, default=30, help="measured seconds at 20/s (default 30)")
    parser.add_argument("--long", type=float, default=300, help="measured seconds at 1,000/s (default 300: five handovers)")
    parser.add_argument("--systems", default="floor,sundial,microbatch")
    parser.add_argument("--only", choices=[*PARTS, "promotions", "new-day"], help="one of the parts")
    options = parser.parse_args()
    say(cores())
    results: dict[tuple[str, str, str], list[float]] = {}
    for turn in range(options.repeat):
        for system in options.systems.split(","):
            say(f"run {turn + 1} of {options.repeat}: {system}")
            parts = [options.only] if options.only else PARTS
            if "latency" in parts:
                run_latency(system, options.seconds, options.long, results)
            if "drain" in parts:
                run_drain(system, results)
            if "promotions" in parts and system == "sundial":
                run_promotions(results)
            if "new-day" in parts and system == "sundial":
                run_new_day(results)
    for (system, metric, unit), values in sorted(results.items()):
        figure("latency", system, metric, values, unit)


if __name__ == "__main__":
    main()
