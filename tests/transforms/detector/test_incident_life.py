"""From scores to incidents: opened once, updated when they grow, closed once, however the readings are cut."""

import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jobs.transforms.detector import incident_life, rarity
from jobs.transforms.detector.detector import Score, new_state
from jobs.transforms.detector.incident_life import followed
from jobs.transforms.detector.moments import Pace
from jobs.transforms.detector.reasons import reason
from jobs.transforms.detector.rules import Rules, default_rules, gap_of
from jobs.transforms.detector.walk import Readings, walked
from tests.transforms.detector.test_walk import of_table
from tests.transforms.detector.walks import HALF_HOUR, days

HOUR = 3_600_000


def judged(scores, sizes, values=None, services=None, shifted=(), stuck=(), deviations=None) -> tuple[Readings, Score]:
    """Readings of every hour of a service with such scores and sizes (in scales of 10 around 100). deviations: of the measure
    that made the score; the sizes, unless they are given."""
    many, zeros = len(scores), np.zeros(len(scores))
    sizes = np.asarray(sizes, float)
    values = 100 + 10 * sizes if values is None else np.asarray(values, float)
    of = np.zeros(many, np.int64) if services is None else np.asarray(services)
    at = np.array([int((of[:row] == of[row]).sum()) for row in range(many)], np.int64) * HOUR
    flags = [np.isin(np.arange(many), rows) for rows in (shifted, stuck)]
    score = np.asarray(scores, float)
    deviations = sizes if deviations is None else np.asarray(deviations, float)
    why = np.full(many, 2), sizes, zeros, deviations, zeros, zeros + 50
    return (
        Readings(of, at, at, np.zeros(many, bool), values),
        Score(zeros + 100, zeros + 70, zeros + 130, score, score >= 1.8, flags[0], *why, flags[1]),
    )


def rules(**changed) -> Rules:
    return default_rules(1)._replace(**{name: np.array([value]) for name, value in changed.items()})


def emitted(readings, score, rule=None):
    """(state, hour) of each event of one service."""
    _, events, _ = followed({}, ["www"], readings, score, rule or default_rules(1))
    return [(event.state, event.at // HOUR) for event in events]


def test_an_incident_is_opened_at_its_onset_and_closed_after_usual_readings():
    readings, score = judged([0, 3, 0.1, 0.1, 0, 0, 0], [0, 5, 4, 3, 1, 1, 1])
    open_, events, onsets = followed({}, ["www"], readings, score, default_rules(1))
    assert [(event.state, event.at // HOUR) for event in events] == [("opened", 1), ("closed", 6)]
    assert onsets.tolist() == [-1, HOUR, HOUR, HOUR, -1, -1, -1]
    assert open_ == {}
    whole = events[-1].incident
    assert whole.id == "www@1970-01-01T01:00:00Z"
    assert (whole.onset, whole.last, whole.readings) == (HOUR, 3 * HOUR, 3)
    assert (whole.actual, whole.expected, whole.area) == (420, 300, 120)
    assert (whole.peak_at, whole.peak, whole.peak_expected, whole.size) == (HOUR, 150, 100, 5)
    assert (whole.score, whole.direction) == (3, "high")
    assert whole.cause.startswith("5.0 scales above what is usual at this time of the week; 0 of 50")


def test_what_falls_is_low_and_its_area_counts_as_much():
    readings, score = judged([3, 0, 0, 0], [-5, -4, 0, 0])
    [whole] = followed({}, ["www"], readings, score, default_rules(1))[0].values()
    assert (whole.direction, whole.area, whole.size) == ("low", 90, -5)


def test_what_grows_or_shifts_is_updated_and_what_does_not_is_not():
    assert emitted(*judged([3, 0, 0, 0, 0], [4, 4.5, 5.1, 6, 8])) == [("opened", 0), ("updated", 2), ("updated", 4)]
    assert emitted(*judged([3, 0, 0], [4, 4, 4], shifted=[2])) == [("opened", 0), ("updated", 2)]


def test_fewer_usual_readings_do_not_close_it():
    assert emitted(*judged([3, 0, 0, 3, 0, 0], [5, 0, 0, 5, 0, 0])) == [("opened", 0)]


def test_an_unusual_reading_without_a_score_opens_nothing():
    assert emitted(*judged([0.5, 0, 0, 0], [5, 5, 5, 0])) == []


def test_a_score_that_the_rule_rejects_stands_and_opens_with_the_next_unusual_reading():
    readings, score = judged([0, 2.5, 0.1, 0.2, 0.1, 0, 0, 0], [0, 1.9, 1.9, 4, 4, 0, 0, 0])
    _, events, onsets = followed({}, ["www"], readings, score, default_rules(1))
    assert [(event.state, event.at // HOUR) for event in events] == [("opened", 3), ("closed", 7)]
    assert onsets.tolist() == [-1, -1, -1, 3 * HOUR, 3 * HOUR, -1, -1, -1]
    whole = events[-1].incident
    assert (whole.readings, whole.score, whole.actual, whole.peak_at) == (2, 2.5, 280, 3 * HOUR)
    assert whole.cause.startswith("1.9 scales above"), "why the score stands"
    for rule in (rules(minimum=135.0), rules(percent=30.0)):
        assert emitted(*judged([2.5, 0.1, 0.1], [3, 3, 4]), rule) == [("opened", 2)]


def test_a_score_that_stands_is_forgotten_after_usual_readings():
    assert emitted(*judged([2.5, 0, 0, 0.1], [1.9, 0, 0, 4])) == [("opened", 3)]
    assert emitted(*judged([2.5, 0, 0, 0, 0.1], [1.9, 0, 0, 0, 4])) == []
    assert emitted(*judged([2.5, 0, 2.8, 0, 0, 0.1], [1.9, 0, 1.9, 0, 0, 4])) == [("opened", 5)], "the newest counts"


def test_after_too_few_unusual_readings_the_score_stands():
    rule = rules(needed=3, within=3)
    assert emitted(*judged([3, 0, 0, 0.1, 0.1, 0.1], [5, 0, 0, 5, 5, 5]), rule) == [("opened", 5)]
    readings, score = judged([1.9, 0, 0.1, 0.1, 0.1], [1.9, 0, 5, 5, 5])
    assert followed({}, ["www"], readings, score, rule)[2].tolist() == [-1, -1, -1, -1, 2 * HOUR]


def test_a_deviation_that_follows_a_jump_without_size_is_an_incident_in_a_real_walk():
    row, at = np.arange(48 * 14), 48 * 12 + 20
    values = 1000 + 100 * np.sin(row / 80 * 2 * np.pi) + np.random.default_rng(3).normal(0, 1, len(row))
    values[at : at + 2] += 120
    values[at + 2 : at + 6] += 200
    readings = of_table(values[:, None])
    _, score = walked(new_state(1, HALF_HOUR), readings, HALF_HOUR)
    assert score.score[at] >= 1.8 > score.score[at + 2], "the detector rests when the reading is unusual"
    assert abs(score.size[at]) < 2 < abs(score.size[at + 2])
    assert ("opened", at + 2) in [
        (event.state, event.at // 1_800_000) for event in followed({}, ["www"], readings, score, default_rules(1))[1]
    ]


def test_a_stuck_value_opens_an_incident():
    assert emitted(*judged([3, 0], [0, 0], stuck=[0])) == [("opened", 0)]


@pytest.mark.parametrize(
    ("rule", "opened"),
    [
        ({"score": np.nan}, [0, 4]),
        ({"percent": 60.0}, [4]),
        ({"spread": 7.0}, [4]),
        ({"minimum": 170.0}, [4]),
        ({"score": 4.5}, [4]),
        ({"score": 9.0}, []),
    ],
)
def test_each_condition_is_on_or_off(rule, opened):
    found = emitted(*judged([4, 0, 0, 0, 5], [5, 0, 0, 0, 8]), rules(**rule))
    assert [hour for state, hour in found if state == "opened"] == opened


def test_of_the_first_readings_enough_must_be_unusual():
    rule = rules(needed=3, within=4)
    assert emitted(*judged([3, 0, 0, 0, 0, 0, 0], [5, 0, 5, 5, 0, 0, 0]), rule) == [("opened", 3), ("closed", 6)]
    assert emitted(*judged([3, 0, 0, 0, 0], [5, 0, 5, 0, 5]), rule) == []
    assert emitted(*judged([3, 0, 0, 0, 3, 0, 0], [5, 0, 5, 0, 5, 5, 5]), rule) == [("opened", 6)]
    open_, _, onsets = followed({}, ["www"], *judged([3, 0, 0], [5, 5, 5]), rule)
    assert onsets.tolist() == [-1, -1, 0]
    assert open_["www"].readings == 3


def test_an_incident_begins_with_the_first_of_the_unusual_readings_that_lead_to_its_score():
    readings, score = judged([0, 0, 0.1, 0.9, 3, 0], [5, 0, 2.5, 3, 4, 5])
    open_, [event], onsets = followed({}, ["www"], readings, score, default_rules(1))
    assert (event.state, event.at // HOUR, event.incident.onset // HOUR) == ("opened", 4, 2)
    assert (event.incident.readings, event.incident.led_by, event.incident.score) == (3, 2, 3)
    assert onsets.tolist() == [-1, -1, -1, -1, 2 * HOUR, 2 * HOUR]
    assert open_["www"].actual == sum(100 + 10 * size for size in (2.5, 3, 4, 5))


def test_the_readings_that_lead_to_an_incident_do_not_count_for_its_persistence():
    rule = rules(needed=2, within=2)
    assert emitted(*judged([0, 0, 3, 0, 0, 0], [5, 5, 5, 0, 0, 0]), rule) == []
    assert emitted(*judged([0, 0, 3, 0, 0, 0], [5, 5, 5, 5, 0, 0]), rule) == [("opened", 3)]


def test_unusual_readings_without_a_score_are_no_incident_and_are_forgotten():
    open_, events, _ = followed({}, ["www"], *judged([0.1, 0.2], [5, 5]), default_rules(1))
    assert (open_["www"].readings, open_["www"].led_by, events) == (2, 2, [])
    open_, events, _ = followed(open_, ["www"], *judged([0, 0], [0, 0]), default_rules(1))
    assert (open_, events) == ({}, [])


def test_a_stuck_value_is_one_incident_until_it_changes_in_a_real_walk():
    values = days(21)
    at = 48 * 17
    values[at : at + 40] = 391.0
    readings = of_table(values)
    _, score = walked(new_state(1, HALF_HOUR), readings, HALF_HOUR)
    _, events, _ = followed({}, ["www"], readings, score, rules(spread=99.0))
    [opened, *_, closed] = [event for event in events if event.incident.onset // 1_800_000 >= at]
    assert (opened.state, opened.at // 1_800_000) == ("opened", at + 6)
    assert (closed.state, closed.at // 1_800_000, closed.incident.readings) == ("closed", at + 42, 34)
    assert closed.incident.cause == "the value repeats itself for longer than ever before"
    assert np.count_nonzero(score.score[at + 7 : at + 40] >= 1.8) == 0


def test_services_do_not_mix():
    readings, score = judged([3, 0, 0, 3, 0, 0], [5, 0, 4, 5, 0, 4], services=[0, 1, 0, 1, 1, 0])
    open_, events, _ = followed({}, ["a", "b"], readings, score, default_rules(2))
    assert [(event.incident.service, event.state, event.at // HOUR) for event in events] == [
        ("a", "opened", 0),
        ("b", "opened", 1),
    ]
    assert open_["a"].readings == 3
    assert open_["b"].readings == 1


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_events_do_not_depend_on_how_the_readings_are_cut(data):
    many = data.draw(st.integers(1, 60))
    number = st.floats(-6, 6, allow_nan=False)
    scores, sizes, deviations = (data.draw(st.lists(number, min_size=many, max_size=many)) for _ in range(3))
    services = data.draw(st.lists(st.integers(0, 2), min_size=many, max_size=many))
    drawn = rules(
        needed=data.draw(st.integers(1, 2)),
        within=3,
        gap=data.draw(st.sampled_from([3, 8])),
        score=data.draw(st.sampled_from([1.8, np.nan])),
    )
    rule = Rules(*(np.repeat(each, 3) for each in drawn))
    readings, score = judged(np.abs(scores), sizes, services=services, deviations=deviations)
    names = ["a", "b", "c"]
    open_whole, events, onsets = followed({}, names, readings, score, rule)
    cut = data.draw(st.integers(0, many))
    open_, found, places = {}, [], []
    for part in (slice(None, cut), slice(cut, None)):
        piece = Readings(*(each[part] for each in readings)), Score(*(each[part] for each in score))
        open_, more, of_part = followed(open_, names, *piece, rule)
        found += more
        places += of_part.tolist()
    assert open_ == open_whole
    assert sorted(found, key=str) == sorted(events, key=str)
    assert places == onsets.tolist()


def test_a_surge_in_a_real_walk_is_one_incident():
    values = days(21, weekend=0.6)
    at = 48 * 17 + 20
    values[at : at + 4] *= 2
    readings = of_table(values)
    _, score = walked(new_state(1, HALF_HOUR), readings, HALF_HOUR)
    _, events, onsets = followed({}, ["www"], readings, score, default_rules(1))
    of_surge = [event for event in events if event.incident.onset == at * 1_800_000]
    assert (of_surge[0].state, of_surge[-1].state) == ("opened", "closed")
    assert (onsets[at : at + 4] == at * 1_800_000).all()
    assert of_surge[-1].incident.readings >= 4


def test_a_moderate_incident_that_lasts_is_one_with_short_intervals():
    sizes = np.where(np.arange(400) % 4 == 3, 3.0, 1.0)
    scores = np.where(np.arange(400) == 3, 3.0, 0.1)
    grown = [("updated", each) for each in (15, 31, 63, 127, 255)]  # with the 4th, 8th, 16th, … unusual reading
    events = emitted(*judged([*scores, *[0.0] * 200], [*sizes, *[0.0] * 200]), rules(gap=180))
    assert events == [("opened", 3), *grown, ("closed", 579)]
    assert emitted(*judged([*scores, *[0.0] * 200], [*sizes, *[0.0] * 200])) == [("opened", 3), ("closed", 6)]


def test_what_is_unusual_by_chance_does_not_keep_an_incident_open():
    sizes = np.where(np.arange(400) % 20 == 0, 2.5, 0.0)
    [opened, *_, closed] = emitted(*judged([3.0, *[0.1] * 399], sizes), rules(gap=180))
    assert opened == ("opened", 0)
    assert 180 < closed[1] < 260


@pytest.mark.parametrize(("interval", "gap"), [(10_000, 180), (300_000, 6), (420_000, 5), (600_000, 3), (3_600_000, 3)])
def test_an_incident_ends_with_three_usual_readings_or_half_an_hour_of_them(interval, gap):
    assert gap_of(interval) == gap


def test_an_incident_has_one_direction_and_readings_of_the_other_are_usual_to_it():
    readings, score = judged([3, 0, 0.1, 0, 0], [2.5, 2.5, -4, 0, 0])
    _, [_, closed], onsets = followed({}, ["www"], readings, score, default_rules(1))
    whole = closed.incident
    assert (whole.direction, whole.peak, whole.readings, whole.actual, closed.at // HOUR) == ("high", 125, 2, 250, 4)
    assert onsets.tolist() == [0, 0, -1, -1, -1]


def test_the_readings_that_lead_to_an_incident_have_its_direction():
    """One hour too low, then an alarm that is too high: the incident begins with the alarm."""
    _, [event], _ = followed({}, ["www"], *judged([0.1, 3], [-2.5, 9]), default_rules(1))
    assert (event.incident.onset // HOUR, event.incident.direction) == (1, "high")
    _, [event], _ = followed({}, ["www"], *judged([0.1, 0.1, 0.1, 3], [-2.5, 2.5, 3, 9]), default_rules(1))
    assert (event.incident.onset // HOUR, event.incident.led_by) == (1, 2)


def test_a_high_score_of_the_other_side_ends_an_incident_and_begins_another():
    for deviations, opened_at in (([5, 4, -9, -6], 2), ([5, 4, -1, -6], 3)):
        scores = [3, 0.1, 3.5, 0.2]
        readings, score = judged(scores, deviations)
        _, events, _ = followed({}, ["www"], readings, score, default_rules(1))
        found = [(event.state, event.at // HOUR, event.incident.direction) for event in events]
        assert found == [("opened", 0, "high"), ("closed", 2, "high"), ("opened", opened_at, "low")]
        assert events[-1].incident.score == 3.5


def test_a_score_stands_for_readings_of_its_own_side_only():
    """A spell of five minutes is too high, while its newest reading is too low."""
    readings, score = judged([2.5, 0.1, 0.1], [-2.5, -2.5, 4], deviations=[3.1, 3.1, 3.1])
    _, [event], _ = followed({}, ["www"], readings, score, default_rules(1))
    assert (event.state, event.at // HOUR, event.incident.direction, event.incident.peak) == ("opened", 2, "high", 140)
    assert event.incident.cause.startswith("3.1 scales above")


def test_a_cause_is_told_of_the_measure_that_made_the_score():
    _, score = judged([3, 0], [-5, 0], deviations=[-7.2, 0])
    score = score._replace(measure=np.full(2, rarity.MEASURES.index("change")))
    assert reason(score, 0) == "a sudden change down by 7.2 scales; 0 of 50 earlier readings deviated as much"
    score = score._replace(measure=np.full(2, rarity.MEASURES.index("error of three")))
    assert reason(score, 0).startswith("7.2 scales below what is usual at this time of the week, over three spells; 0 of 50")


def test_without_a_score_a_rule_tells_the_reading_whose_measure_has_the_other_side():
    readings, score = judged([0.5, 0], [5, 0], deviations=[-1, 0])
    _, [event], _ = followed({}, ["www"], readings, score, rules(score=np.nan))
    assert event.incident.cause == "the reading is 5.0 scales above what is usual at this time of the week"
    assert (event.incident.direction, event.incident.score) == ("high", 0)


def test_a_rule_without_a_score_opens_no_incident_for_each_change_of_side():
    flapping = [5, -5] * 10
    grown = [("updated", 6), ("updated", 14)]  # with its 4th and its 8th reading of the same side
    assert emitted(*judged([0.5] * 20, flapping), rules(score=np.nan, gap=8)) == [("opened", 0), *grown]
    assert emitted(*judged([0.5] * 4, [5, -5, -5, -5]), rules(score=np.nan, needed=2, within=3)) == [("opened", 2)]


DISTURBANCES = st.lists(
    st.tuples(st.integers(400, 660), st.integers(1, 30), st.floats(-12, 12), st.booleans()), min_size=1, max_size=4
)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([60, 600]), DISTURBANCES)
@example(1, 60, [(500, 20, 9.0, True), (540, 4, -9.0, False)])
@example(2, 600, [(500, 20, -9.0, True), (540, 1, 9.0, False)])
def test_all_that_an_incident_says_is_of_one_side(seed, interval, disturbances):
    """Steps and ramps of a noisy series. interval: seconds; disturbances: (first reading, readings, scales, whether a ramp)."""
    pace, values = Pace(interval), np.random.default_rng(seed).normal(0, 1, 700)
    for first, long, scales, ramp in disturbances:
        values[first : first + long] += np.linspace(scales / long, scales, long) if ramp else scales
    at = np.arange(len(values)) * interval * 1000
    readings = Readings(np.zeros(len(at), np.int64), at, at, np.zeros(len(at), bool), values)
    _, score = walked(new_state(1, pace), readings, pace)
    rule = rules(gap=gap_of(interval * 1000))
    _, events, _ = followed({}, ["www"], readings, score, rule)
    for _, _, incident in events:
        side = 1 if incident.direction == "high" else -1
        words = "above|up" if side > 0 else "below|down"
        assert re.match(rf"([\d.]+ scales|a sudden change) ({words}) .*; ", incident.cause)
        assert side * score.size[incident.onset // (interval * 1000)] >= 2
        assert side * incident.size >= 2
        assert side * (incident.peak - incident.peak_expected) > 0
        assert side * (incident.actual - incident.expected) > 0
        assert incident.area == pytest.approx(abs(incident.actual - incident.expected))


def test_missing_values_neither_close_nor_open():
    readings, score = judged([3, 0, 0, 0, 0], [5, 0, 0, 0, 5], values=[150, np.nan, np.nan, np.nan, 150])
    assert emitted(readings, score) == [("opened", 0)]
    assert followed({}, ["www"], readings, score, default_rules(1))[2][1] == incident_life.NO_INCIDENT


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.booleans())), st.sampled_from([0, 2**16]))
def test_readings_are_in_order_of_service_and_time_and_those_of_one_time_as_they_came(cells, more):
    service = np.array([each[0] + more for each in cells], np.int64)
    at = np.array([each[1] for each in cells], np.int64)
    value = np.array([1.0 if each[2] else np.nan for each in cells], float)
    found = incident_life.in_order(Readings(service, at, at, np.zeros(len(cells), bool), value))
    known = [row for row, each in enumerate(cells) if each[2]]
    assert found.tolist() == sorted(known, key=lambda row: (service[row], at[row], row))
