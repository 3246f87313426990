"""How well incidents are detected: precision, recall, delay and false alarms at one alert load, for Sundial and its peers.

The series are cuts of the real captures and generated ones; incidents of eight kinds are injected into them. `--half dev` is the
half to develop with. The half `sealed` is for the table in bench/README.md: nothing is ever chosen by it.
"""

import argparse
import json
from collections.abc import Callable

import numpy as np

from bench.detection_incidents import KINDS, Labelled, labelled
from bench.detection_scoring import Outcome, early_detection, outcome, threshold_for
from bench.detection_series import all_series
from bench.detection_systems import SYSTEMS
from bench.platform import say

DRAWS = 1000  # of the bootstrap over series
Figure = Callable[[list[Outcome]], float]


def precision(outcomes: list[Outcome]) -> float:
    """Share of alarms that an incident raised; 0 without an alarm."""
    return sum(each.right for each in outcomes) / max(sum(each.alarms for each in outcomes), 1)


def recall(outcomes: list[Outcome]) -> float:
    """Share of incidents with an alarm."""
    found = [hit for each in outcomes for _, hit in each.found]
    return sum(found) / max(len(found), 1)


def delay_minutes(outcomes: list[Outcome]) -> float:
    """Median from onset to alarm, of the incidents found; a day if none was."""
    delays = [delay for each in outcomes for delay in each.delays]
    return float(np.median(delays)) / 60 if delays else 1440.0


def false_per_week(outcomes: list[Outcome]) -> float:
    """Alarms outside incidents, of one series in a week."""
    return sum(each.alarms - each.right for each in outcomes) / max(sum(each.weeks for each in outcomes), 1e-9)


FIGURES: dict[str, tuple[Figure, str]] = {
    "precision": (precision, "share"),
    "recall": (recall, "share"),
    "delay": (delay_minutes, "minutes"),
    "false_per_week": (false_per_week, "alarms"),
}


def interval(outcomes: list[Outcome], of: Figure) -> tuple[float, float]:
    """95 % of the figures of series drawn with replacement."""
    random = np.random.default_rng(1)
    drawn = [of([outcomes[each] for each in random.integers(len(outcomes), size=len(outcomes))]) for _ in range(DRAWS)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def measure(system: str, group: str, cases: list[Labelled], scores: list[np.ndarray], load: float) -> None:
    """Prints the figures of one system on one group of series."""
    threshold = threshold_for(cases, scores, load)
    outcomes = [outcome(case, each, threshold) for case, each in zip(cases, scores, strict=True)]
    for name, (of, unit) in FIGURES.items():
        show(system, f"{group}_{name}", of(outcomes), unit, interval(outcomes, of))
    show(system, f"{group}_early_detection", early_detection(cases, scores)[0], "of 100", None)
    found = [each for one in outcomes for each in one.found]
    by_kind = {kind: [hit for name, hit in found if name == kind] for kind in KINDS}
    say(f"{system}, {group}: " + ", ".join(f"{kind} {sum(hits)}/{len(hits)}" for kind, hits in by_kind.items() if hits))


def show(system: str, metric: str, value: float, unit: str, bounds: tuple[float, float] | None) -> None:
    """One JSON line, as of every benchmark; low and high are the bounds."""
    line = {"bench": "detection", "system": system, "metric": metric, "value": round(value, 3), "unit": unit}
    if bounds:
        line |= {"low": round(bounds[0], 3), "high": round(bounds[1], 3)}
    print(json.dumps(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("dev", "sealed"), default="dev", help="which half of the labelled set")
    parser.add_argument("--each", type=int, default=6, help="generated series of each kind; up to three cuts of each capture")
    parser.add_argument("--load", type=float, default=1.0, help="alarms a week and series, at which systems are compared")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    options = parser.parse_args()
    cases = [labelled(each) for each in all_series(options.half == "sealed", options.each)]
    for system in options.systems:
        scores = SYSTEMS[system]([case.series for case in cases])
        for group in ("counts", "measurements"):
            of = [number for number, case in enumerate(cases) if case.series.group == group]
            measure(system, group, [cases[each] for each in of], [scores[each] for each in of], options.load)


if __name__ == "__main__":
    main()
