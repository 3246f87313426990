"""What is wrong with a stream or with the baseline of its feed, in words. The limits are those of the alert rules."""

import datetime as dt
from collections.abc import Iterator

from contracts.baseline_log import Entry
from contracts.feeds import Feed
from serving.health_models import StreamHealth, StreamInfo
from supervision.status import REPORTED_STATES

STALLED = {"score": 180, "queries": 420}  # seconds in which nothing is done while some waits
BEHIND = {"score": 30, "queries": 300}  # seconds that the oldest record has waited
UNATTENDED = dt.timedelta(minutes=15)  # without a look of the supervision
RESTARTS, LATELY = 3, dt.timedelta(hours=1)
TAKEN_UP = dt.timedelta(minutes=10)  # after a promotion
OLD = dt.timedelta(days=3)  # of a baseline, before the newest reading
NOT_ASKED = dt.timedelta(hours=36)  # the gate, though readings come


def failures(info: StreamInfo) -> Iterator[str]:
    """Why it does not do its work, if so."""
    if info.switched_off:
        return
    if info.given_up:
        yield "Restarting has not helped. It is tried again every five minutes."
    if info.problem:
        yield f"{info.problem}."
    stalled = info.health.stalled_seconds if info.state in REPORTED_STATES else None
    if stalled is not None and stalled > STALLED[info.stream]:
        yield "It does nothing while records wait."


def warnings(info: StreamInfo, now: dt.datetime) -> Iterator[str]:
    """What else is wrong with a stream that runs, or is launched again and again."""
    if info.switched_off:
        return
    if info.restarts >= RESTARTS and info.launched_at is not None and now - info.launched_at < LATELY:
        yield "Its drivers die again and again: see the end of driver.log, or the log of its task in Airflow."
    if info.state not in REPORTED_STATES:
        return
    if info.supervised_at is not None and now - info.supervised_at > UNATTENDED:
        yield "No supervision looks at it, so nothing restarts it. Unpause its DAG, and see whether Airflow's triggerer runs."
    yield from _of_health(info.health, info.stream)


def of_baseline(
    feed: Feed, info: StreamInfo | None, in_force: Entry | None, newest_at: dt.datetime | None, now: dt.datetime
) -> Iterator[str]:
    """newest_at: time of the feed's newest reading."""
    if info is None or info.state not in REPORTED_STATES or in_force is None:
        return
    if info.baseline_version not in (in_force.version, None) and now - in_force.promoted_at > TAKEN_UP:
        yield f"It does not score with v{in_force.version}, the baseline in force. The end of driver.log says why."
    if in_force.as_of is not None and newest_at is not None:
        midnight = dt.datetime.combine(in_force.as_of, dt.time(), feed.zone)
        if min(newest_at, now) - midnight > OLD:
            yield f"The baseline in force is as of {in_force.as_of}. See why no nightly run has promoted another since."


def of_gate(checked_at: dt.datetime | None, newest_at: dt.datetime | None, now: dt.datetime) -> Iterator[str]:
    comes = newest_at is not None and now - newest_at < dt.timedelta(days=1)
    if comes and checked_at is not None and now - checked_at > NOT_ASKED:
        yield "No nightly run has reached the gate for more than 36 hours. See whether its DAG is paused or fails."


def _of_health(health: StreamHealth, kind: str) -> Iterator[str]:
    if health.lag_seconds is not None and health.lag_seconds > BEHIND[kind]:
        yield f"It is more than {BEHIND[kind]} s behind its topics."
    if health.dead_letters_per_second:
        yield "Records come that can't be read: see its dead letters."
