"""The readings that flow while one looks around: simulated services with something going wrong."""

import datetime as dt
import shutil
import sys
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

from contracts.feeds import Feed, load_feed
from stack.deploy.cluster import admin
from stack.instance import Instance
from stack.parts import process

NAME = "live"
FEED = "service-use"
SERVICES = 4
SEED = 7
# From the moment the live readings start: something at once, and more while one looks around.
INCIDENTS = ("surge@checkout+0s..30m", "outage@search+12m..5m", "slow-leak@login+20m..30m", "stuck@catalog+60m..15m")


def newest(instance: Instance, feed: Feed) -> dt.datetime:
    """When the newest reading arrived in the feed's topic."""
    requests = {TopicPartition(feed.topic, number): OffsetSpec.max_timestamp() for number in range(feed.partitions)}
    client = admin(instance.kafka)  # must outlive its futures
    found = [future.result(timeout=10).timestamp for future in client.list_offsets(requests).values()]
    return dt.datetime.fromtimestamp(max(found) / 1000, dt.UTC)


def part(instance: Instance) -> process.Part:
    """Simulated readings from where the topic ends. Raises KafkaException if no broker says where."""
    feed = load_feed(FEED)
    since = (newest(instance, feed) - dt.timedelta(seconds=2 * feed.interval_seconds)).astimezone(feed.zone)
    command = ["simulate", "--feed", feed.name, "--services", str(SERVICES), "--seed", str(SEED), "--live"]
    command += ["--from", since.strftime("%Y-%m-%d %H:%M:%S")]
    for incident in INCIDENTS:
        command += ["--incident", incident]
    return playing(instance, NAME, command)


def start(instance: Instance) -> None:
    """Start the simulated readings as a process; one that runs already is restarted."""
    process.stop(instance, NAME)
    process.start(instance, part(instance))


def healthy(instance: Instance, name: str = NAME) -> bool:
    """It runs: it answers no requests that would say more."""
    return process.find(instance, name) is not None


def playing(instance: Instance, name: str, command: list[str]) -> process.Part:
    """A part that is a command of `sundial`."""
    sundial = shutil.which("sundial", path=str(Path(sys.executable).parent)) or "sundial"
    return process.Part(name, [sundial, *command], instance.process_environment(), healthy=lambda: healthy(instance, name))
