"""The last day of a file, sent to the topic of a new feed: its stream then scores something before there is a producer."""

from sources.capture import Capture
from sources.console import bar
from sources.replay import play
from sources.replay_plan import ReplayPlan, Window
from stack.errors import StackError
from stack.instance import Instance
from stack.parts import process


def send(instance: Instance, capture: Capture, since: int) -> int:
    """Play the capture's readings from `since` (epoch milliseconds) on, as they are; how many."""
    feed = capture.feed
    plan = ReplayPlan(capture, capture.survey(), 0, Window(since, None))
    with bar(f"{capture.path.name} → {feed.topic}", None) as progress:
        report = play(plan.readings(), feed, kafka=instance.kafka, registry=instance.registry, progress=progress)
    if report.failed:
        what = f"{report.failed} of {report.events} readings did not arrive in {feed.topic}: {report.first_error}"
        raise StackError(what, log=process.log_file(instance, "kafka"), remedy="see the broker's log, then run again")
    return report.events
