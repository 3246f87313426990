"""What the main job shows: a simulated fleet, five weeks of history and then live readings with something going wrong; and the
real captures in samples/, moved to the present, as the other feeds."""

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
from sources.replay import play
from sources.services import service_names
from sources.simulator import Simulation
from stack.deploy.cluster import admin
from stack.errors import StackError
from stack.instance import ROOT, Instance
from stack.parts import process

NAME = "live"
SERVICES = 4
SEED = 7
HISTORY_DAYS = 35
# From the moment the live readings start: something at once, and more while one looks around.
INCIDENTS = ("surge@checkout+0s..10m", "outage@search+12m..5m", "slow-leak@login+20m..30m", "stuck@catalog+60m..15m")
SAMPLES = {  # by feed, as `sundial replay` takes them
    "road-traffic": "metro_interstate_traffic_volume.csv.gz --service I-94 --time-column date_time --value-column traffic_volume",
    "world-cup": "worldcup98_requests_per_minute.csv.gz --service www --timezone UTC --time-column period --value-column count",
}
SAMPLE_WEEKS = 9


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
    simulation = Simulation(feed, service_names(SERVICES), SEED)
    with bar(f"history → {feed.topic}", (end - start) // step * SERVICES) as progress:
        report = play(simulation.readings(start, end), feed, kafka=instance.kafka, registry=instance.registry, progress=progress)
    if report.failed:
        what = f"{report.failed} of {report.events} readings did not arrive in {feed.topic}: {report.first_error}"
        raise StackError(what, log=process.log_file(instance, "kafka"), remedy="see the broker's log, then run again")
    loaded(instance, feed).write_text(json.dumps({"start": start, "end": end, "readings": report.events}))
    return report.events


def newest(instance: Instance, feed: Feed) -> dt.datetime:
    """When the newest reading arrived in the feed's topic."""
    requests = {TopicPartition(feed.topic, number): OffsetSpec.max_timestamp() for number in range(feed.partitions)}
    client = admin(instance.kafka)  # must outlive its futures
    found = [future.result(timeout=10).timestamp for future in client.list_offsets(requests).values()]
    return dt.datetime.fromtimestamp(max(found) / 1000, dt.UTC)


def start_live(instance: Instance, feed: Feed) -> None:
    """Live readings from where the topic ends, as a background process; one that runs already is restarted."""
    process.stop(instance, NAME)
    since = (newest(instance, feed) - dt.timedelta(seconds=2 * feed.interval_seconds)).astimezone(feed.zone)
    command = ["simulate", "--feed", feed.name, "--services", str(SERVICES), "--seed", str(SEED), "--live"]
    command += ["--from", since.strftime("%Y-%m-%d %H:%M:%S")]
    for incident in INCIDENTS:
        command += ["--incident", incident]
    _start(instance, NAME, command)


def start_samples(instance: Instance) -> list[str]:
    """Play each sample into its feed, nine weeks at once and then on in real time, where it does not play yet; the feeds."""
    for feed, arguments in SAMPLES.items():
        (file, *columns), name = arguments.split(), f"{NAME}.{feed}"
        if not process.find(instance, name):
            begin = (dt.datetime.now(dt.UTC) - dt.timedelta(weeks=SAMPLE_WEEKS)).isoformat(timespec="seconds")
            played = ["--shift-to-now", "--speed", "1", "--from", begin, "--skip-bad"]
            _start(instance, name, ["replay", str(ROOT / "samples" / file), "--feed", feed, *columns, *played])
    return list(SAMPLES)


def _start(instance: Instance, name: str, command: list[str]) -> None:
    sundial = shutil.which("sundial", path=str(Path(sys.executable).parent)) or "sundial"
    process.start(
        instance,
        process.Part(
            name, [sundial, *command], instance.process_environment(), healthy=lambda: bool(process.find(instance, name))
        ),
    )
