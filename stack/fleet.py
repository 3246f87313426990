"""The fleet that the main job shows: five weeks of simulated history, then live readings with something going wrong."""

import datetime as dt
import json
import shutil
import sys
import time
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

from contracts.feeds import Feed
from sources.console import bar
from sources.fleet import service_names
from sources.replay import play
from sources.simulator import Simulation
from stack import process
from stack.errors import StackError
from stack.home import Home
from stack.kafka import admin

NAME = "live"
SERVICES = 4
SEED = 7
HISTORY_DAYS = 35
# From the moment the live readings start: something at once, and more while one looks around.
INCIDENTS = ("surge@checkout+0s..10m", "outage@search+12m..5m", "slow-leak@login+20m..30m", "stuck@catalog+60m..15m")


def loaded(home: Home, feed: Feed) -> Path:
    """The file that says the whole history was acknowledged by Kafka."""
    return home.path / f"history.{feed.name}.json"


def load_history(home: Home, feed: Feed) -> int:
    """Play the history at full speed, once; how many readings. A load that was interrupted is repeated: equal readings."""
    if loaded(home, feed).exists():
        return 0
    step = feed.interval_seconds * 1000
    end = int(time.time() * 1000) // step * step
    start = end - HISTORY_DAYS * 86_400_000
    simulation = Simulation(feed, service_names(SERVICES), SEED)
    with bar(f"history → {feed.topic}", (end - start) // step * SERVICES) as progress:
        report = play(simulation.readings(start, end), feed, kafka=home.kafka, registry=home.registry, progress=progress)
    if report.failed:
        what = f"{report.failed} of {report.events} readings did not arrive in {feed.topic}: {report.first_error}"
        raise StackError(what, log=process.log_file(home, "kafka"), remedy="see the broker's log, then run again")
    loaded(home, feed).write_text(json.dumps({"start": start, "end": end, "readings": report.events}))
    return report.events


def newest(home: Home, feed: Feed) -> dt.datetime:
    """When the newest reading arrived in the feed's topic."""
    asked = {TopicPartition(feed.topic, number): OffsetSpec.max_timestamp() for number in range(feed.partitions)}
    client = admin(home.kafka)  # must outlive its futures
    found = [future.result(timeout=10).timestamp for future in client.list_offsets(asked).values()]
    return dt.datetime.fromtimestamp(max(found) / 1000, dt.UTC)


def start_live(home: Home, feed: Feed) -> None:
    """Live readings from where the topic ends, as a background process; one that runs already is begun anew."""
    process.stop(home, NAME)
    since = (newest(home, feed) - dt.timedelta(seconds=2 * feed.interval_seconds)).astimezone(feed.zone)
    sundial = shutil.which("sundial", path=str(Path(sys.executable).parent)) or "sundial"
    command = [sundial, "simulate", "--feed", feed.name, "--services", str(SERVICES), "--seed", str(SEED), "--live"]
    command += ["--from", since.strftime("%Y-%m-%d %H:%M:%S")]
    for incident in INCIDENTS:
        command += ["--incident", incident]
    part = process.Part(NAME, command, home.process_environment(), healthy=lambda: process.find(home, NAME) is not None)
    process.start(home, part)
