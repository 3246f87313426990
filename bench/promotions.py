"""Latency at 1,000/s while one baseline after the other is promoted: `make bench NAME=latency ARGS="--only promotions"`.

The feed has the rule that `sundial new feed` declares, by the robust normal: of each slot, the driver holds three numbers instead
of one. What it keeps of former baselines would fill its memory within a few promotions.
"""

import tempfile
from pathlib import Path

import numpy as np

from bench.declared import declared, score_in
from bench.platform import driver, platform, promote_again, promote_large_baseline, running, wait_for
from bench.stopwatch import measure

PROMOTIONS = 5
APART = 75.0  # seconds: a handover begins each minute, so each promotion is taken up by itself


def run_promotions(results: dict) -> None:
    """Quantiles at 1,000/s. Raises TimeoutError if a reading is never scored, or a baseline not taken up."""
    with tempfile.TemporaryDirectory(prefix="sundial-bench-") as folder, platform() as instance:
        feed = declared("service-use", Path(folder), by_the_robust_normal)
        promote_large_baseline(instance, feed)
        program = score_in(Path(folder))
        with driver(instance, program, "--feed", feed.name, repo=Path(folder)):
            wait_for("the query", running(instance, feed, "sundial"))
            acts = [lambda _: promote_again(instance, feed)] * PROMOTIONS
            latencies = measure(instance, feed, feed.anomalies_topic, 1000, APART * (PROMOTIONS + 1), *acts)
            log = instance.logs / f"{program.stem}.log"
            wait_for("the last baseline", lambda: log.read_text().count("what changed: baseline") == PROMOTIONS, 60)
    for name, quantile in (("p50", 50), ("p99", 99), ("p999", 99.9), ("worst", 100)):
        results.setdefault(("sundial", f"{name}_ms_promotions", "ms"), []).append(float(np.percentile(latencies, quantile)))


def by_the_robust_normal(declaration: str) -> str:
    return declaration.replace("rule:\n", "rule:\n  normal: robust\n")
