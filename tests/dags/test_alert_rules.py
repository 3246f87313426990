"""The alert rules agree with the limits of what they watch: a person is told when, and only when, nothing acts by itself."""

import datetime as dt
import re
from pathlib import Path

import pytest
import yaml

from contracts.queries import load_queries
from dags import feed_dags, nightly_baseline, supervise_queries
from dags.stream_operator import supervision
from jobs.backends.settings import UNATTENDED
from supervision.policy import Limits
from supervision.status import STALE_SECONDS

PROMETHEUS = Path(__file__).parents[2] / "docker/prometheus"
RULES = {
    rule["alert"]: rule for group in yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"] for rule in group["rules"]
}
SCRAPED_EVERY = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())["global"]["scrape_interval"]
UNITS = {"s": 1, "m": 60, "h": 3600}
OF_KIND = {"score": Limits(), "queries": supervise_queries.LIMITS}
HOUR, DAY = 3600, 86400
LONGEST_DAY = 25 * HOUR  # of the year


def seconds(duration: str) -> int:
    """Of a duration as Prometheus writes it."""
    return int(duration[:-1]) * UNITS[duration[-1]]


def held(alert: str) -> int:
    """For how many seconds the expression must hold."""
    return seconds(RULES[alert].get("for", "0s"))


def threshold(alert: str, of: str) -> int:
    """The number that `of` is compared with, in its rule."""
    found = re.search(rf"{re.escape(of)}\S* (?:>|<|>=) ([\d *]+\d)", RULES[alert]["expr"])
    product = 1
    for factor in found[1].split("*"):
        product *= int(factor)
    return product


def pauses(limits: Limits) -> list[int]:
    """Before the restarts: 0, 1, 2, 4, …"""
    return [0, *(2**number for number in range(limits.restarts - 1))]


def longest_start(limits: Limits) -> float:
    """From a driver's death to the end of the next one's start, if it may just live."""
    return limits.hang_after + pauses(limits)[-1] + 2 * limits.start_within  # until its first heartbeat, and until it runs


@pytest.mark.parametrize("limits", OF_KIND.values(), ids=OF_KIND)
def test_a_stream_is_down_after_the_longest_start_and_not_much_later(limits):
    assert longest_start(limits) < held("StreamDown") <= longest_start(limits) + 60


def test_a_stream_that_is_given_up_is_told_at_once():
    assert held("StreamGivenUp") == 0


@pytest.mark.parametrize("limits", OF_KIND.values(), ids=OF_KIND)
def test_a_driver_that_is_killed_again_and_again_is_told_before_it_is_given_up_or_if_it_never_is(limits):
    """The slowest that is never given up: each driver takes its time to start, runs well, and then stands still."""
    restarts, expression = int(re.search(r">= (\d+)", RULES["StreamRestarting"]["expr"])[1]), RULES["StreamRestarting"]["expr"]
    assert 1 < restarts <= limits.restarts, "one may be chance"
    assert "changes(sundial_stream_launched_timestamp_seconds[1h])" in expression
    assert restarts * (longest_start(limits) + limits.well_after + limits.stall_after) < HOUR


@pytest.mark.parametrize("kind", OF_KIND)
def test_a_standstill_is_told_where_the_supervision_has_not_ended_it(kind):
    """A driver that takes up a baseline may stand still for as long as a start."""
    limits, told = OF_KIND[kind], threshold("StreamStalled", f'stalled_seconds{{stream="{kind}"}}')
    assert told == limits.stall_after + limits.start_within
    assert held("StreamStalled") == 0


def test_a_stream_without_supervision_is_told_before_it_ends_and_not_between_two_attempts_of_its_task():
    retry = supervision("a", doc_md="a").default_args["max_retry_delay"].total_seconds()
    told = threshold("StreamUnattended", "unattended_seconds") + held("StreamUnattended")
    assert retry + max(pauses(Limits())) + seconds(SCRAPED_EVERY) < told < UNATTENDED / 2


def test_lateness_is_told_where_batches_of_queries_are_rightly_that_long():
    assert threshold("StreamLate", 'lag_seconds{stream="queries"}') == supervise_queries.LIMITS.stall_after
    assert threshold("StreamLate", 'lag_seconds{stream="score"}') < Limits().stall_after
    # A standstill that the supervision ends is not lateness.
    assert held("StreamLate") >= max(limits.stall_after for limits in OF_KIND.values())
    assert Limits().hang_after > STALE_SECONDS, "a hung driver's figures are left out before it is killed"


def test_every_declared_query_has_a_batch_more_often_than_lateness_is_told():
    for query in load_queries().values():
        number, unit = query.trigger.split()
        assert dt.timedelta(**{f"{unit.removesuffix('s')}s": int(number)}).total_seconds() < supervise_queries.LIMITS.stall_after


def test_a_stream_has_time_to_take_up_a_baseline_and_to_be_restarted_if_it_can_not():
    limits = Limits()
    assert held("BaselineNotInUse") > limits.start_within + longest_start(limits), "a swap that is killed, and a new start"


def test_a_night_may_take_as_long_as_it_may():
    on_time = LONGEST_DAY + nightly_baseline.IN_TIME.total_seconds()
    assert on_time < threshold("GateNotAsked", "sundial_gate_checked_timestamp_seconds") < 2 * DAY
    assert threshold("GateNotAsked", "sundial_feed_newest_reading_timestamp_seconds") == DAY
    one_missed = on_time + LONGEST_DAY
    assert one_missed < threshold("BaselineOld", "sundial_baseline_as_of_timestamp_seconds") < one_missed + DAY


def test_a_person_is_asked_for_as_long_as_the_task_waits():
    asked = threshold("GateRefused", "sundial_gate_checked_timestamp_seconds")
    assert asked == feed_dags.ANSWER_WITHIN.total_seconds()


def test_dead_letters_are_counted_alike_since_a_query_began_and_while_it_runs():
    window = re.search(r"increase\(sundial_stream_dead_letters_total\[(\w+)\]", RULES["DeadLetters"]["expr"])[1]
    assert threshold("DeadLetters", "query_started_timestamp_seconds") == seconds(window)
