"""Half hours of two services with incidents, and the events that one walk through all of them finds."""

import numpy as np

from contracts.feeds import Feed
from jobs.transforms import incident_rows
from jobs.transforms.detector import incident_life, rules, silence
from jobs.transforms.detector.detector import new_state
from jobs.transforms.detector.moments import Pace
from jobs.transforms.detector.walk import Readings, walked
from jobs.transforms.incident_groups import GroupRule, Groups, grouped
from tests.transforms.detector.walks import days

NAMES = ["a", "b"]
HALF_HOUR = 1_800_000  # ms
MANY = 16 * 48
SILENCE = 4  # intervals
FORGET = 56 * 86_400_000  # ms
FEED = Feed(
    name="half-hours",
    description="calls in half an hour",
    record="service_use_record",
    interval_seconds=HALF_HOUR // 1000,
    spread_window_seconds=HALF_HOUR // 1000,
    incidents={"silence": SILENCE},
)

Row = tuple[str, int, float]  # service, number of the half hour, value


def half_hours() -> list[Row]:
    """By time: a surge of both services, a surge and missing readings of one, an outage and a silence of the other."""
    values = days(MANY // 48, services=2)
    values[580:583, 0] *= 2
    values[581:583, 1] *= 2
    values[700:704, 0] *= 2
    values[650:655, 1] = 0
    values[600:602, 0] = np.nan
    values[720:730, 1] = np.nan
    found = [(NAMES[who], row, value) for row, each in enumerate(values.tolist()) for who, value in enumerate(each)]
    return [each for each in found if each[2] == each[2]]


def events_of(rows: list[Row], monday: int, group: GroupRule | None = None) -> list[dict]:
    """As rows of the contract `incident`, for a feed in UTC without holidays. monday: when the first begins, in epoch ms."""
    pace = Pace(HALF_HOUR // 1000)
    names, numbers, values = zip(*rows, strict=True)
    service = np.array([NAMES.index(name) for name in names])
    at = monday + np.array(numbers) * HALF_HOUR
    readings = Readings(service, at, at, np.zeros(len(at), bool), np.array(values, float))
    _, score = walked(new_state(len(NAMES), pace), readings, pace)
    _, events, _ = incident_life.followed({}, NAMES, readings, score, rules.default_rules(len(NAMES)))
    _, silences = silence.listened({}, NAMES, readings, int(at.max()), HALF_HOUR, np.array([SILENCE, SILENCE]), FORGET)
    found = [incident_rows.of_deviation(each, HALF_HOUR) for each in events]
    found += [incident_rows.of_silence(each) for each in silences]
    return grouped(Groups(), found, {each.at: (each.silent, each.known) for each in silences}, group)[1]
