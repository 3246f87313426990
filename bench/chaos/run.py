"""One run, from an empty folder to its report."""

import argparse
import datetime as dt
import tempfile
import time
from pathlib import Path

from bench.chaos import judged, stage
from bench.chaos.producers import Load
from bench.platform import cores, say, wait_for
from contracts.feeds import load_feed
from stack.instance import Instance
from stack.parts import lifecycle
from stack.parts.streams import Stream
from supervision.files import parse_time
from tests.support.hostile import TEXTS

SERVICES = ("checkout", "login", "search", "cart")


def well(instance: Instance, stream: Stream, since: dt.datetime, few: int) -> bool:
    """It runs, and as measured after that instant, hardly anything waits."""
    seen = stream.status(instance)
    health = seen.heartbeat.get("health", {})
    measured = parse_time(health.get("measured_at"))
    known = seen.state == "running" and measured is not None and measured > since
    return known and health["lag_seconds"] < (2 if stream.kind == "score" else 30) and health["lag_records"] <= few


def run(options: argparse.Namespace) -> int:
    say(f"seed {options.seed}; {cores()}")
    with tempfile.TemporaryDirectory(prefix="sundial-chaos-") as folder:
        instance = Instance(Path(folder)).make(0)
        try:
            return on(instance, options)
        finally:
            lifecycle.down(instance, say)


def on(instance: Instance, options: argparse.Namespace) -> int:
    lifecycle.up(instance, say)
    feed = load_feed("service-use")
    primed = stage.prime(instance, feed, SERVICES, options.seed)
    streams = [Stream(feed.name, "score")]
    stage.begin(instance, streams)
    drafts = stage.readings(instance, feed, primed, options.seed, list(TEXTS.values()))
    load = Load(instance.kafka, feed.topic, options.rate, drafts.drafts, options.seed)
    load.start()
    time.sleep(60 * options.minutes)
    load.stop()
    ended = dt.datetime.now(dt.UTC)
    wait_for("an end without a lag", lambda: well(instance, streams[0], ended, 0), 900)
    stage.night(instance, feed)
    verdict = judged.feed(instance, feed, load.ledger.sent(), primed, options.tolerance)
    print(verdict.figures, verdict.classes)
    for what, count in verdict.findings.counts.items():
        print(what, count, *verdict.findings.examples[what], sep="\n  ")
    return 1 if verdict.findings.counts else 0
