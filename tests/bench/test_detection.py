"""The labelled set is what it says, its scoring is right by hand, and its peers are causal."""

import numpy as np
import pytest

from bench.detection import FIGURES
from bench.detection_incidents import KINDS, PROBATION, Incident, Labelled, labelled
from bench.detection_scoring import FALSE_ALARM, alarms, early_detection, gains, outcome, threshold_for, weight
from bench.detection_series import DAY, START, Series, all_series, generated
from bench.detection_systems import SYSTEMS

ROWS = 2000


def case(*incidents: Incident) -> Labelled:
    times = START + 300 * np.arange(ROWS, dtype=np.int64)
    return Labelled(Series("flat", "counts", 300, times, np.zeros(ROWS)), list(incidents))


def scored(*rows: int) -> np.ndarray:
    scores = np.zeros(ROWS)
    scores[list(rows)] = 1.0
    return scores


def test_the_halves_have_no_series_in_common_and_are_always_the_same():
    names = [{each.name for each in all_series(sealed, 2)} for sealed in (False, True)]
    assert not names[0] & names[1]
    assert len(names[0]) == len(names[1]) == 30
    one, two = generated("mentions", 3), generated("mentions", 3)
    assert np.array_equal(one.values, two.values)
    assert not np.array_equal(one.values[:100], generated("mentions", 5).values[:100])


def test_incidents_change_their_rows_and_no_others():
    kinds = set()
    for series in all_series(False, 4):
        found = labelled(series)
        changed = np.zeros(len(series.times), bool)
        for each in found.incidents:
            assert PROBATION * len(changed) < each.start < each.end <= len(changed)
            changed[each.start : each.end] = True
            kinds.add(each.kind)
        assert np.array_equal(found.series.values[~changed], series.values[~changed])
        assert not np.array_equal(found.series.values[changed], series.values[changed])
        assert series.group != "counts" or (found.series.values == np.floor(found.series.values)).all()
    assert kinds == set(KINDS)


def test_early_detection_by_hand():
    one = case(Incident("surge", 1000, 1010))
    ((start, end),) = one.windows()
    assert (start, end) == (900, 1100)
    assert early_detection([one], [scored(start)])[0] == pytest.approx(100)
    at_onset = 100 * (1 + weight(np.array(-0.5))) / (1 + weight(np.array(-1.0)))
    assert early_detection([one], [scored(1000, 1050)])[0] == pytest.approx(float(at_onset))
    thresholds, gain = gains(one, scored(1000, 500, 501, 100))
    assert gain[-1] == pytest.approx(float(weight(np.array(-0.5))) - 2 * FALSE_ALARM)
    assert len(thresholds) == 3  # the one in the probation counts nothing


def test_alarms_are_half_a_day_apart_for_every_system():
    assert alarms(case(), scored(600, 601, 743, 744, 900), 1.0).tolist() == [600, 744, 900]
    assert alarms(case(), scored(10, 600), 1.0).tolist() == [600]


def test_an_outcome_counts_what_was_found_until_a_day_after():
    one = case(Incident("shift", 800, ROWS), Incident("spike", 1500, 1501))
    found = outcome(one, scored(500, 900, 1100, 1502), 1.0)
    assert (found.alarms, found.right) == (4, 2)
    assert found.found == [("shift", True), ("spike", True)]
    assert found.delays == [100 * 300, 2 * 300]
    assert found.weeks == pytest.approx(0.85 * (ROWS - 1) * 300 / (7 * DAY))
    figures = {name: of([found]) for name, (of, _) in FIGURES.items()}
    assert figures == {
        "precision": 0.5,
        "recall": 1.0,
        "delay": (100 * 5 + 2 * 5) / 2,
        "false_per_week": pytest.approx(2 / found.weeks),
    }


def test_the_threshold_keeps_the_load():
    scores = np.random.default_rng(1).random(ROWS)
    threshold = threshold_for([case()], [scores], 2.0)
    weeks = outcome(case(), scores, np.inf).weeks
    assert 0 < len(alarms(case(), scores, threshold)) <= 2.0 * weeks


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_judges_by_the_past_only(system):
    series = [generated("balancer", 0), generated("price", 0)]
    short = [Series(each.name, each.group, each.interval, each.times[:1300], each.values[:1300]) for each in series]
    parts = SYSTEMS[system](short)
    for whole, part in zip(SYSTEMS[system](series), parts, strict=True):
        assert len(part) == 1300
        assert np.array_equal(whole[:1300], part)
    assert parts[1].max() > 0
