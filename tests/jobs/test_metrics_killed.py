"""Summaries of metrics, killed in their work and started again, end with what a recompute of their input gives."""

import datetime as dt
from collections import defaultdict
from pathlib import Path

import pytest

from jobs.backends.spark import with_state
from jobs.transforms.queries.metric_summaries import PART, WINDOW
from supervision.files import StreamFolder
from tests.jobs.applications import until
from tests.jobs.kills import KILLS, deployed, killed_while
from tests.jobs.metrics import LATENESS, MINUTE, MetricsTopic, by_window, wrong
from tests.support.seed import chance

pytestmark = [pytest.mark.kill, pytest.mark.full]


def kept(spark, folder: Path, state: str) -> set[int]:
    """Starts of the parts or windows, epoch ms, of which the files of a stopped driver hold that state."""
    checkpoint = StreamFolder(folder).checkpoint / "metric-summaries"
    read = with_state(spark).read.format("statestore").option("stateVarName", state).load(str(checkpoint))
    return {row.Start for row in read.select("user_map_key.Start").distinct().collect()}


def rolled_up(values: dict[tuple[str, int], list[float]]) -> dict[tuple[str, int], list[float]]:
    """The values of all environments of a metric, and of all metrics of an environment."""
    found = defaultdict(list)
    for (key, window), each in values.items():
        environment, metric = key.split(":")
        for parent in (f"environment=*:{metric}", f"{environment}:metric=*"):
            found[parent, window] += each
    return found


@pytest.mark.timeout(600 + 120 * KILLS)
def test_metric_summaries(broker, start, spark, tmp_path):
    """Half an hour of events, one a second and key, repeated and corrected ones too, each part of it under a driver that dies.
    Then an event of each key after its windows are over, by which their state goes."""
    reader, source, random_ = deployed(broker, "metrics"), MetricsTopic(broker, "metrics"), chance("metrics")
    begin = int(dt.datetime.now(dt.UTC).timestamp() * 1000) // (10 * MINUTE) * 10 * MINUTE - 70 * MINUTE
    keys = [f"environment={environment}:metric=dbWaitTime" for environment in ("prod", "test", "dev")]
    last_values: dict[tuple[str, str, int], float] = {}

    def work(number: int) -> None:
        events = []
        for key in keys:
            for second in range(0, 1800 // (KILLS + 1)):
                at = begin + 1000 * (second + number * 1800 // (KILLS + 1))
                events.append((key, f"{key}-{at}", at, random_.lognormvariate(3, 1)))
        known = [each for each in last_values if each[2] > at - LATENESS]  # corrections that come in time
        for key, id_, at in random_.sample(known, min(len(known), 20)):
            events.append((key, id_, at, last_values[key, id_, at] * random_.choice((1.0, 3.0))))
        source.send(*events)
        last_values.update({(key, id_, at): value for key, id_, at, value in events})

    def values() -> dict[tuple[str, int], list[float]]:
        found = defaultdict(list)
        for (key, _, at), value in last_values.items():
            found[key, at // WINDOW * WINDOW].append(value)
        return found

    def tells(topic: str, expected: dict[tuple[str, int], list[float]]) -> bool:
        found = by_window(reader.of(topic, "metric_summary").values())
        counts = {place: row["Count"] for place, row in found.items()}
        return counts == {place: len(each) for place, each in expected.items()} and not wrong(found, expected)

    work(0)
    last = killed_while(lambda: start("metrics"), work, random_)
    now = int(dt.datetime.now(dt.UTC).timestamp() * 1000)
    source.send(*((key, None, now, 1.0) for key in keys))
    last_values.update({(key, "", now): 1.0 for key in keys})
    until("the summaries of the events' last values", lambda: tells("metrics.summaries", values()))
    until("the rollups of the events' last values", lambda: tells("metrics.rollups", rolled_up(values())))
    assert [message.topic() for message in reader.look() if message.topic().endswith(("dead-letter", "late"))] == []
    assert last.stop() == 0
    left = {name: kept(spark, tmp_path / "metrics.queries", name) for name in ("parts", "logs", "told")}
    assert left == {"parts": {now // PART * PART}, "logs": {now // PART * PART}, "told": {now // WINDOW * WINDOW}}
