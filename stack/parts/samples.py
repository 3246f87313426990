"""The readings of the main job's other feeds: real captures in samples/, moved to the present, and played again when they end.

By how many weeks a capture is moved is chosen once and kept in the stack's folder: the same times have the same readings from
then on, however often they are sent.
"""

import datetime as dt
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path

from contracts.feeds import Feed, load_feed
from sources.capture import Capture
from sources.console import bar
from sources.replay import play
from sources.replay_plan import ReplayPlan, Window
from stack.errors import StackError
from stack.instance import ROOT, Instance
from stack.parts import live, process

WEEKS = 9  # of history
DAY = 86_400_000  # milliseconds


@dataclass(frozen=True)
class Sample:
    """A capture of one service, and the feed that it goes to."""

    feed: str
    file: str
    service: str
    time_column: str
    value_column: str
    timezone: str | None = None

    @property
    def name(self) -> str:
        """Of the process that plays it."""
        return f"{live.NAME}.{self.feed}"

    def capture(self, feed: Feed) -> Capture:
        return Capture(
            ROOT / "samples" / self.file,
            feed,
            service=self.service,
            time_column=self.time_column,
            value_column=self.value_column,
            timezone=self.timezone,
        )

    def kept(self, instance: Instance) -> Path:
        """The file that says by how many weeks it is moved, and what of it was acknowledged by Kafka as history."""
        return instance.path / f"history.{self.feed}.json"


SAMPLES = (
    Sample("road-traffic", "metro_interstate_traffic_volume.csv.gz", "I-94", "date_time", "traffic_volume"),
    Sample("world-cup", "worldcup98_requests_per_minute.csv.gz", "www", "period", "count", "UTC"),
)


def load_history(instance: Instance, sample: Sample) -> int:
    """Play the last nine weeks at full speed, once; how many readings. One that was interrupted is repeated: equal readings."""
    kept = _kept(instance, sample)
    if "loaded_at" in kept:
        return 0
    feed = load_feed(sample.feed)
    now = int(time.time() * 1000)
    plan = ReplayPlan.to_now(sample.capture(feed), now, live=False, weeks=kept.get("weeks"))
    _keep(instance, sample, {"weeks": plan.weeks})
    plan = replace(plan, window=Window(now - WEEKS * 7 * DAY, plan.window.end), repeat=True)
    with bar(f"history → {feed.topic}", None) as progress:
        report = play(plan.readings(), feed, kafka=instance.kafka, registry=instance.registry, progress=progress)
    if report.failed:
        what = f"{report.failed} of {report.events} readings did not arrive in {feed.topic}: {report.first_error}"
        raise StackError(what, log=process.log_file(instance, "kafka"), remedy="see the broker's log, then run again")
    _keep(instance, sample, {"weeks": plan.weeks, "end": plan.window.end, "loaded_at": time.time()})
    return report.events


def part(instance: Instance, sample: Sample) -> process.Part:
    """The readings from where the topic ends, and on in real time. Raises KafkaException if no broker says where.

    After the history, it begins a day earlier: no stream has scored the history, and this day it scores. The same readings twice
    do no harm.
    """
    feed, kept = load_feed(sample.feed), _kept(instance, sample)
    newest = live.newest(instance, feed)
    if newest.timestamp() <= kept["loaded_at"]:  # nothing came after the history
        since = dt.datetime.fromtimestamp((kept["end"] - DAY) / 1000, dt.UTC)
    else:
        since = newest - dt.timedelta(seconds=2 * feed.interval_seconds)
    command = ["replay", str(ROOT / "samples" / sample.file), "--feed", feed.name, "--service", sample.service, "--skip-bad"]
    command += ["--time-column", sample.time_column, "--value-column", sample.value_column]
    command += ["--timezone", sample.timezone] if sample.timezone else []
    command += ["--shift-to-now", "--shift-weeks", str(kept["weeks"]), "--repeat", "--speed", "1"]
    return live.playing(instance, sample.name, [*command, "--from", since.isoformat(timespec="seconds")])


def start(instance: Instance, sample: Sample) -> None:
    """Play a sample whose history is loaded, where it does not play yet."""
    if not process.find(instance, sample.name):
        process.start(instance, part(instance, sample))


def _kept(instance: Instance, sample: Sample) -> dict:
    file = sample.kept(instance)
    return json.loads(file.read_text()) if file.exists() else {}


def _keep(instance: Instance, sample: Sample, values: dict) -> None:
    sample.kept(instance).write_text(json.dumps(values))
