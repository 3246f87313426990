"""The readings that flow while one looks around: simulated services with something going wrong, and as the other feeds the real
captures in samples/, moved to the present."""

import datetime as dt
import shutil
import sys
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

from contracts.feeds import Feed, load_feed
from stack.deploy.cluster import admin
from stack.instance import ROOT, Instance
from stack.parts import process

NAME = "live"
FEED = "service-use"
SERVICES = 4
SEED = 7
# From the moment the live readings start: something at once, and more while one looks around.
INCIDENTS = ("surge@checkout+0s..30m", "outage@search+12m..5m", "slow-leak@login+20m..30m", "stuck@catalog+60m..15m")
SAMPLES = {  # by feed, as `sundial replay` takes them
    "road-traffic": "metro_interstate_traffic_volume.csv.gz --service I-94 --time-column date_time --value-column traffic_volume",
    "world-cup": "worldcup98_requests_per_minute.csv.gz --service www --timezone UTC --time-column period --value-column count",
}
SAMPLE_WEEKS = 9


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
    return _part(instance, NAME, command)


def start(instance: Instance) -> None:
    """Start the simulated readings as a process; one that runs already is restarted."""
    process.stop(instance, NAME)
    process.start(instance, part(instance))


def ends_by_itself(name: str) -> bool:
    """Whether a part of that name is a sample, which is over some day."""
    return name in {f"{NAME}.{feed}" for feed in SAMPLES}


def start_samples(instance: Instance) -> list[str]:
    """Play each sample into its feed, nine weeks at once and then on in real time, where it does not play yet; the feeds."""
    for feed, arguments in SAMPLES.items():
        (file, *columns), name = arguments.split(), f"{NAME}.{feed}"
        if not process.find(instance, name):
            begin = (dt.datetime.now(dt.UTC) - dt.timedelta(weeks=SAMPLE_WEEKS)).isoformat(timespec="seconds")
            played = ["--shift-to-now", "--speed", "1", "--from", begin, "--skip-bad"]
            command = ["replay", str(ROOT / "samples" / file), "--feed", feed, *columns, *played]
            process.start(instance, _part(instance, name, command))
    return list(SAMPLES)


def healthy(instance: Instance, name: str = NAME) -> bool:
    """It runs: it answers no requests that would say more."""
    return process.find(instance, name) is not None


def _part(instance: Instance, name: str, command: list[str]) -> process.Part:
    sundial = shutil.which("sundial", path=str(Path(sys.executable).parent)) or "sundial"
    return process.Part(name, [sundial, *command], instance.process_environment(), healthy=lambda: healthy(instance, name))
