"""Each kind of wrongness is found, and what is right is not: one test each."""

import datetime as dt
from collections.abc import Sequence
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from bench.chaos.ledger import KINDS, Ledger
from bench.chaos.records import Draft
from bench.chaos.verify import Baseline, Calendar, InForce, Rule, Scored

DAY = dt.date(2024, 5, 1)  # a Wednesday
NOON = int(dt.datetime(2024, 5, 1, 12, tzinfo=ZoneInfo("America/New_York")).timestamp() * 1000)
PROMOTED = NOON + 60_000  # of version 3; version 2 was from NOON on
CALENDAR = Calendar(ZoneInfo("America/New_York"), 10_000, frozenset({dt.date(2024, 7, 4)}))
RULE = Rule(percent=5, spread=6, minimum=20)


def baseline(version: int) -> Baseline:
    """An average of 100 times the version in each slot, and a spread of 2."""
    return Baseline(np.full((2, 7, 8640), 100.0 * version), np.full((2, 7, 96), 2.0))


def scored(*readings: tuple[str, int, int], taken: Sequence[int] = ()) -> Scored:
    """taken: when the broker took each of them, by its clock; all at noon."""
    ledger = Ledger()
    for offset, (service, at, value) in enumerate(readings):
        number = ledger.sends(Draft(service.encode(), b"", "good", (service, at, value)))
        ledger.acknowledged(number, 0, offset, taken[offset] if taken else NOON)
    in_force = InForce([NOON, PROMOTED], [2, 3], tolerance=30_000)
    return Scored(ledger.sent(), CALENDAR, RULE, in_force, baseline)


def row(at: int = NOON, value: int = 200, version: int = 2, written: int = NOON + 1000, service: int = 0, **other) -> dict:
    """A right scored row, but for `other`."""
    average = 100.0 * version
    right = {
        "service": service,
        "at": at,
        "written": written,
        "Timestamp": at,
        "Value": value,
        "DayType": 3,
        "Slot": 4320,
        "Last4Avg": average,
        "Expected": average,
        "Spread": 2.0,
        "PredictedDiff": value - average,
        "PredictedPct": 100 * value / average,
        "Anomalous": abs(value - average) > 12 and abs(100 * value / average - 100) > 5,
        "BaselineVersion": version,
        "Level": np.nan,
        "Scale": np.nan,
        "KafkaPartition": 0,
        "KafkaOffset": 0,
        "KafkaTimestamp": NOON,
    }
    return right | other


def judged(scored: Scored, *rows: dict) -> dict[str, int]:
    for each in rows:
        scored.judge({name: np.array([cell]) for name, cell in each.items()})
    scored.missing()
    return dict(scored.findings.counts)


ONE = ("checkout", NOON, 200)


def test_a_right_row_is_right():
    assert judged(scored(ONE), row()) == {}


def test_the_same_row_again_is_right():
    assert judged(scored(ONE), row(), row()) == {}


def test_the_row_again_by_the_next_version_is_right():
    assert judged(scored(ONE), row(), row(version=3, written=PROMOTED + 1000)) == {}


def test_a_reading_without_a_row_is_missing():
    assert judged(scored(ONE, ("checkout", NOON + 10_000, 200)), row()) == {"missing": 1}


def test_a_row_of_nothing_is_unexpected():
    assert judged(scored(ONE), row(), row(at=NOON + 10_000)) == {"unexpected": 1}


def test_a_row_of_an_unknown_service_is_unexpected():
    assert judged(scored(ONE), row(), row(service=-1)) == {"unexpected": 1}


def test_a_reading_doubled_with_another_value_is_unexpected():
    assert judged(scored(ONE), row(value=201), row()) == {"unexpected": 1}


@pytest.mark.parametrize(
    ("field", "other"),
    [
        *(("DayType", 4), ("Slot", 4321), ("Last4Avg", 200.0000001), ("Expected", 0.0), ("Spread", np.nan)),
        *(("PredictedDiff", 1.0), ("PredictedPct", np.nan), ("Anomalous", True), ("Level", 200.0)),
    ],
)
def test_a_wrong_field_is_found(field, other):
    assert judged(scored(ONE), row(**{field: other})) == {"wrong": 1}


def test_a_doubled_row_with_another_content_is_found():
    assert judged(scored(ONE), row(), row(Expected=199.0)) == {"wrong": 1}


def test_a_stale_baseline_is_found():
    assert judged(scored(ONE), row(written=PROMOTED + 30_001)) == {"stale": 1}


def test_the_baseline_before_may_be_used_while_streams_take_up_the_next():
    assert judged(scored(ONE), row(written=PROMOTED + 29_999)) == {}


def test_a_baseline_of_later_is_found():
    assert judged(scored(ONE), row(version=3, written=PROMOTED - 10_000)) == {"stale": 1}


def test_a_version_that_never_was_is_found():
    assert judged(scored(ONE), row(version=7)) == {"stale": 1}


def test_before_the_first_promotion_nothing_is_expected():
    nothing = dict.fromkeys(("Last4Avg", "Expected", "Spread", "PredictedDiff", "PredictedPct"), np.nan)
    assert judged(scored(ONE), row(version=-1, written=NOON, Anomalous=False, **nothing)) == {}


def test_an_average_of_zero_has_no_percentage():
    judge = scored(ONE)
    judge._baseline = lambda version: Baseline(np.zeros((2, 7, 8640)), np.full((2, 7, 96), 2.0))
    right = judge.right(np.array([0]), np.array([NOON]), np.array([200]), 2)
    assert (np.isnan(right["PredictedPct"]).tolist(), right["Anomalous"].tolist()) == ([True], [True])


BOTH = ONE, ("checkout", NOON, 250)
CORRECTION = {"value": 250, "KafkaOffset": 1}


def test_of_a_reading_and_its_correction_the_later_one_counts_in_whatever_order_they_are_written():
    for rows, overtaken in (((row(), row(**CORRECTION)), 0), ((row(**CORRECTION), row()), 1)):
        judge = scored(*BOTH)
        assert (judged(judge, *rows), judge.overtaken) == ({}, overtaken)
    assert judged(scored(*BOTH), row()) == {"not_newest": 1}


def test_of_two_readings_the_one_that_the_broker_took_last_by_its_clock_counts():
    """Its clock was set back before the correction came."""
    first, set_back = {"KafkaTimestamp": NOON + 45_000}, (NOON + 45_000, NOON)
    judge = scored(*BOTH, taken=set_back)
    assert (judged(judge, row(**first), row(**CORRECTION)), judge.set_back, judge.overtaken) == ({}, 1, 1)
    assert judged(scored(*BOTH, taken=set_back), row(**CORRECTION)) == {"not_newest": 1}
    judge = scored(*BOTH, taken=(NOON, NOON + 1))
    assert (judged(judge, row(), row(**CORRECTION | {"KafkaTimestamp": NOON + 1})), judge.set_back) == ({}, 0)


def test_a_key_that_is_not_scored_as_its_newest_reading_is_shown_with_all_its_rows():
    judge = scored(*BOTH)
    judged(judge, row(), row(written=NOON + 2000))
    assert judge.findings.examples["not_newest"] == [
        f"'checkout' at {NOON} counts with 200, the newest reading is 250; rows: "
        f"200, the reading 0 of {NOON}, by version 2, written at {NOON + 1000}; "
        f"200, the reading 0 of {NOON}, by version 2, written at {NOON + 2000}"
    ]


def test_a_row_that_names_another_record_than_its_reading_is_unexpected():
    assert judged(scored(*BOTH), row(), row(value=250, KafkaOffset=0), row(**CORRECTION)) == {"unexpected": 1}
    assert judged(scored(*BOTH), row(**CORRECTION), row(KafkaOffset=2)) == {"unexpected": 1}
    assert judged(scored(*BOTH), row(**CORRECTION), row(KafkaPartition=1)) == {"unexpected": 1}
    assert judged(scored(*BOTH), row(**CORRECTION), row(KafkaTimestamp=NOON + 1)) == {"unexpected": 1}


def test_of_two_versions_the_newer_one_counts_though_the_older_one_is_written_later():
    right, judge = row(version=3, written=PROMOTED, value=300), scored(("checkout", NOON, 300))
    assert judged(judge, right, row(written=PROMOTED + 1000, value=300)) == {}
    assert (judge.final["BaselineVersion"].tolist(), judge.final["Anomalous"].tolist()) == ([3], [0])
    in_one_batch = {name: np.array([right[name], row(value=300)[name]]) for name in right}
    again = scored(("checkout", NOON, 300))
    again.judge(in_one_batch)
    assert again.final["BaselineVersion"].tolist() == [3]


def test_a_holiday_is_a_sunday_and_the_clock_is_the_feeds():
    fourth = int(dt.datetime(2024, 7, 4, 23, 59, 50, tzinfo=CALENDAR.zone).timestamp() * 1000)
    _, day_type, slot = CALENDAR.place(np.array([fourth, fourth + 10_000]))
    assert (day_type.tolist(), slot.tolist()) == ([7, 5], [8639, 0])


@pytest.mark.parametrize(("hour", "slot"), [(6, 1 * 360), (7, 3 * 360)])  # UTC, of the hour that is skipped in New York
def test_a_skipped_hour_has_no_slots(hour, slot):
    at = int(dt.datetime(2024, 3, 10, hour, tzinfo=dt.UTC).timestamp() * 1000)
    assert CALENDAR.place(np.array([at]))[2].tolist() == [slot]


def test_all_classes_have_a_number():
    assert len(KINDS) == len(set(KINDS)) < 256
