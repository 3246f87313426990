"""The history that the main job loads: five weeks of the simulated services whose live readings follow it."""

import json
import time
from pathlib import Path

from contracts.feeds import Feed
from sources.console import bar
from sources.replay import play
from sources.services import service_names
from sources.simulated_incidents import parse_incident
from sources.simulator import Simulation
from stack.errors import StackError
from stack.instance import Instance
from stack.parts import live, process

HISTORY_DAYS = 35
# From the history's first moment. None is on the same day of the week as the end, so that what is usual then is undisturbed.
PAST_INCIDENTS = (
    *("surge@checkout+19d..30m", "outage@search+24d..20m", "slow-leak@login+29d..2h"),
    *("outage@catalog+32d..10m", "surge@search+33d..15m"),
)


def loaded(instance: Instance, feed: Feed) -> Path:
    """The file that says the whole history was acknowledged by Kafka."""
    return instance.path / f"history.{feed.name}.json"


def load_history(instance: Instance, feed: Feed) -> int:
    """Play the history at full speed, once; how many readings. A load that was interrupted is repeated: equal readings."""
    if loaded(instance, feed).exists():
        return 0
    step = feed.interval_seconds * 1000
    end = int(time.time() * 1000) // step * step
    start = end - HISTORY_DAYS * 86_400_000
    names = service_names(live.SERVICES)
    incidents = [parse_incident(each, start, names, feed.interval_seconds) for each in PAST_INCIDENTS]
    simulation = Simulation(feed, names, live.SEED, incidents)
    with bar(f"history → {feed.topic}", (end - start) // step * live.SERVICES) as progress:
        report = play(simulation.readings(start, end), feed, kafka=instance.kafka, registry=instance.registry, progress=progress)
    if report.failed:
        what = f"{report.failed} of {report.events} readings did not arrive in {feed.topic}: {report.first_error}"
        raise StackError(what, log=process.log_file(instance, "kafka"), remedy="see the broker's log, then run again")
    loaded(instance, feed).write_text(json.dumps({"start": start, "end": end, "readings": report.events}))
    return report.events
