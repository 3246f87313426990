"""The newest reading of each service, what was expected and the incidents, as Prometheus metrics.

Each service costs six series in Prometheus, so a feed has those of a bounded number of services: names that are made up must not
fill Prometheus. The services of the baseline in force come first, then the others, by name: the choice stays between scrapes.
"""

import math
from collections.abc import Iterator, Sequence

from prometheus_client.core import GaugeMetricFamily, Metric

from contracts.feeds import Feed
from serving.band import band
from serving.fleet import patience_of
from serving.judged_incidents import incident_info
from serving.memory import Reading
from serving.state import State

MEANINGS = {
    "newest_reading_timestamp_seconds": "Time of its newest scored reading",
    "value": "Of its newest reading; none while it is silent, as the four that follow",
    "expected": "What that reading is compared with",
    "band_low": "The lowest value that the rule does not flag there",
    "band_high": "The highest value that the rule does not flag there",
    "anomalous": "1 if that reading is an anomaly, else 0",
}


def of_each_service(state: State) -> Iterator[Metric]:
    found = {
        name: GaugeMetricFamily(f"sundial_service_{name}", meaning, labels=["feed", "service"])
        for name, meaning in MEANINGS.items()
    }
    meaning = "Services without sundial_service_*, as there are more than serving is set to give"
    left_out = GaugeMetricFamily("sundial_serving_services_without_metrics", meaning, labels=["feed"])
    for feed in state.feeds.values():
        readings, known = state.memory.services(feed.name), state.memory.in_baseline(feed.name)
        names = sorted(readings, key=lambda name: (name not in known, name))
        most = state.settings.metrics_services_per_feed
        patience, as_of = patience_of(feed.incidents, feed.interval_seconds), state.live.status.as_of
        for name in names[:most]:
            reading = readings[name]
            if reading is None:
                continue
            silent = as_of is not None and as_of.timestamp() * 1000 - reading.at > patience(name)
            for metric, value in _of_reading(feed, reading, silent).items():
                if not math.isnan(value):
                    found[metric].add_metric([feed.name, name], value)
        if names:
            left_out.add_metric([feed.name], len(names[most:]))
    yield from (*found.values(), left_out)


def of_incidents(state: State, readable: Sequence[Feed]) -> Metric:
    """Of feeds whose statements can be read; nothing before serving has read the topics."""
    meaning = "Open incidents, without groups and without false alarms"
    found = GaugeMetricFamily("sundial_feed_open_incidents", meaning, labels=["feed"])
    for feed in readable if state.live.status.as_of else ():
        said = state.tables.statements(feed)
        each = [incident_info(feed, one, said) for one in state.incidents.open(feed.name) if one.kind != "group"]
        found.add_metric([feed.name], sum(one.verdict is None or one.verdict.kind != "false" for one in each))
    return found


def _of_reading(feed: Feed, reading: Reading, silent: bool) -> dict[str, float]:
    """NaN where nothing is known."""
    newest = {"newest_reading_timestamp_seconds": reading.at / 1000}
    if silent:
        return newest
    expected, spread = (math.nan if each is None else each for each in (reading.expected, reading.spread))
    low, high = band(feed.rule, expected, spread)
    bounds = {"expected": expected, "band_low": float(low), "band_high": float(high)}
    return newest | bounds | {"value": float(reading.value), "anomalous": float(reading.anomalous)}
