"""The robust normal by hand, and by what must hold of it: neither odd dates nor outages nor the order of the rows change it."""

import datetime as dt
import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.transforms import baseline
from jobs.transforms.baseline import MAD_TO_SIGMA
from jobs.transforms.normal import by_date, normal

SLOTS, WINDOWS = 288, 24  # of five minutes, by hour
FOUR_HOURS = 48
MONDAY = dt.date(2026, 6, 1)
EPOCH = dt.date(1970, 1, 1)


def days(dates, level=200.0, daily=0.03, seed=1):
    """Poisson counts around a daily curve; each date as a whole is higher or lower by a few per cent."""
    random = np.random.default_rng(seed)
    curve = level * (1 + 0.7 * np.sin(np.arange(SLOTS) / SLOTS * 2 * np.pi))
    return random.poisson(curve * random.normal(1, daily, (dates, 1))).astype(float)


def moved(before, after):
    """How far the level moved, in scales, and the scale, as a ratio; by slot."""
    return np.abs(after.level - before.level) / before.scale, after.scale / before.scale


def runs(readings, cut_after=()):
    """RUNS from (days after MONDAY, slot, value), in this order, cut at these places."""
    bounds = [0, *sorted(cut_after), len(readings)]
    batches = []
    for first, last in itertools.pairwise(bounds):
        piece = readings[first:last]
        columns = {
            "ServiceName": pa.array(["www"] * len(piece)),
            "Date": pa.array([MONDAY + dt.timedelta(days=day) for day, _, _ in piece], pa.date32()),
            "Slot": pa.array([slot for _, slot, _ in piece], pa.int32()),
            "Value": pa.array([value for _, _, value in piece], pa.int64()),
        }
        batches.append(pa.RecordBatch.from_pydict(columns))
    return pa.Table.from_batches(list(baseline.to_runs(iter(batches))))


READINGS = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 23), st.integers(0, 10_000)), min_size=1, max_size=200)


@given(READINGS, st.randoms(), st.lists(st.integers(1, 199), max_size=5))
def test_order_and_cut_of_the_rows_change_no_bit(readings, random, cuts):
    dates, values = by_date(runs(readings), 24)
    shuffled = random.sample(readings, len(readings))
    again, others = by_date(runs(shuffled, [cut for cut in cuts if cut < len(readings)]), 24)
    assert again.tolist() == dates.tolist()
    assert others.tobytes() == values.tobytes()
    assert [each.tobytes() for each in normal(others, 6)] == [each.tobytes() for each in normal(values, 6)]


def test_a_repeated_hour_is_the_mean_of_both_and_a_skipped_hour_is_missing():
    dates, values = by_date(runs([(7, 1, 10), (7, 1, 25), (0, 0, 3), (0, 1, 4), (7, 3, 8)]), 4)
    assert dates.tolist() == [(MONDAY - EPOCH).days, (MONDAY - EPOCH).days + 7]
    np.testing.assert_array_equal(values, [[3, 4, np.nan, np.nan], [np.nan, 17.5, np.nan, 8]])


def test_two_dates_by_hand():
    """One slot a window, so nothing is pooled: the older date counts 2^(-1/3) as much as the newer one."""
    found = normal(np.array([[100.0], [110.0]]), 1)
    older = 0.5 ** (1 / 3)
    level = (110 + 100 * older) / (1 + older)
    assert found.level == pytest.approx([level])
    near, far = 110 - level, level - 100
    # The nearer residual stands at 1/2 of the weights, the other at 1 + older/2, and the half of all is at (1 + older)/2.
    median = near + (far - near) * (older / 2) / ((1 + older) / 2)
    worth = (1 + older) ** 2 / (1 + older**2)
    assert found.scale == pytest.approx([MAD_TO_SIGMA * median * math.sqrt((worth + 1) / (worth - 1))])


def test_a_third_date_far_off_counts_nothing_by_hand():
    found = normal(np.array([[100.0], [0.0], [104.0]]), 1)
    older = 0.5 ** (2 / 3)  # there is the odd one between
    middle, far = 100.0, 4.685 * MAD_TO_SIGMA * 4 * math.sqrt(3 / 2)  # far is more than 4.685 times the root of the middle
    far = max(far, 4.685 * math.sqrt(middle))
    nearness = (1 - (4 / far) ** 2) ** 2
    assert found.level == pytest.approx([(104 * nearness + 100 * older) / (nearness + older)])


@pytest.mark.parametrize(("value", "scale"), [(0, 1), (0.25, 1), (9, 3), (400, 20)])
def test_where_nothing_varies_the_scale_is_that_of_counts(value, scale):
    found = normal(np.full((4, SLOTS), float(value)), WINDOWS)
    assert found.level == pytest.approx(np.full(SLOTS, value))
    assert found.scale == pytest.approx(np.full(SLOTS, scale))


def test_the_scale_is_the_standard_deviation_of_what_comes_next():
    """Where readings are independent the level is nearly certain, and of 12 dates the scale leaves it 15 % for errors."""
    random = np.random.default_rng(3)
    found = normal(random.normal(1000, 100, (12, SLOTS)), WINDOWS)
    assert np.median(found.scale) == pytest.approx(115, rel=0.05)
    assert np.abs(found.level - 1000).max() < 60
    whole_dates = [normal(random.normal(1000, 100, (12, 1)) * np.ones((1, 6)), 2).scale[0] for _ in range(40)]
    assert np.median(whole_dates) == pytest.approx(108, rel=0.15)


def test_pooling_leaves_less_noise_than_the_mean_of_four_dates():
    values = days(12, daily=0.0)
    curve = 200 * (1 + 0.7 * np.sin(np.arange(SLOTS) / SLOTS * 2 * np.pi))
    robust = (normal(values, WINDOWS).level - curve) / np.sqrt(curve)
    plain = (values[-4:].mean(0) - curve) / np.sqrt(curve)
    assert np.sqrt((robust**2).mean()) < 0.6 * np.sqrt((plain**2).mean())


def test_a_slot_unlike_its_neighbours_on_every_date_keeps_its_own_level():
    values = days(4)
    values[:, 100] *= 3
    values[2, 200] *= 3  # once: chance
    found, without = normal(values, WINDOWS), normal(days(4), WINDOWS)
    assert found.level[100] == pytest.approx(3 * without.level[100], rel=0.1)
    assert found.level[200] == pytest.approx(without.level[200], rel=0.1)
    assert found.level[99] == pytest.approx(without.level[99], rel=0.25)


@given(st.integers(3, 12), st.integers(0, 11), st.integers(0, SLOTS - FOUR_HOURS), st.integers(0, 1000))
def test_an_outage_of_four_hours_on_one_date_leaves_the_band_as_it_was(dates, date, first, seed):
    """The mean of the dates would move by 5 scales and more. What is left is that those hours have a date fewer."""
    values = days(dates, seed=seed)
    before = normal(values, WINDOWS)
    values[date % dates, first : first + FOUR_HOURS] = 0
    level, scale = moved(before, normal(values, WINDOWS))
    few = dates < 6
    assert level.max() < (5 if few else 2)
    assert level.mean() < (0.5 if few else 0.12)
    assert np.median(scale) == pytest.approx(1, abs=0.05)
    assert scale.min() > 0.3
    assert scale.max() < (9 if few else 2.5)


def test_the_band_of_the_next_weeks_is_as_if_there_had_been_no_outage():
    """Seven Mondays, an outage from ten to two on the eighth, and the four Mondays after it: each has the dates before it."""
    quiet = days(12)
    outage = quiet.copy()
    outage[7, 120:168] = 0
    for monday in range(8, 12):
        before, after = normal(quiet[:monday], WINDOWS), normal(outage[:monday], WINDOWS)
        for edge in (-6, 6):
            band, other = before.level + edge * before.scale, after.level + edge * after.scale
            assert (np.abs(other - band) / before.scale).mean() < 0.25
        plain = np.abs(outage[monday - 4 : monday].mean(0) - quiet[monday - 4 : monday].mean(0)) / before.scale
        level, _ = moved(before, after)
        assert level[120:168].max() < 1.5 < 2 < plain[120:168].mean()


@given(st.integers(4, 12), st.integers(0, 11), st.sampled_from([0.3, 1.8, 3.0]), st.integers(0, 1000))
def test_one_odd_date_leaves_the_band_as_it_was(dates, date, factor, seed):
    values = days(dates, seed=seed)
    before = normal(values, WINDOWS)
    values[date % dates] = np.rint(values[date % dates] * factor)
    level, scale = moved(before, normal(values, WINDOWS))
    few = dates < 6
    assert np.median(level) < (2 if few else 0.45)
    assert level.max() < (4 if few else 2.5)
    assert 0.6 < np.median(scale) < (5 if few else 1.8)


@given(st.lists(st.integers(0, 4), max_size=4, unique=True), st.integers(0, 100))
def test_a_date_that_is_excluded_is_as_if_it_were_not_there(excluded, seed):
    values = days(5, seed=seed)
    without = np.delete(values, excluded, axis=0)
    values[excluded] = np.nan
    np.testing.assert_array_equal(normal(values, WINDOWS), normal(without, WINDOWS))


def test_an_excluded_range_changes_no_slot_further_off_than_its_windows():
    values = days(8)
    before = normal(values, WINDOWS)
    values[7, 120:168] = np.nan  # ten o'clock to fourteen
    level, _ = moved(before, normal(values, WINDOWS))
    assert level[:96].max() < 0.05
    assert level[192:].max() < 0.05
    assert level.max() < 1


def test_a_lasting_change_is_the_normal_after_four_dates_and_an_odd_pair_is_not():
    values = days(12)
    before = normal(values, WINDOWS)
    pair, lasting = values.copy(), values.copy()
    pair[-2:] *= 2
    lasting[-4:] *= 2
    assert np.median(normal(pair, WINDOWS).level / before.level) == pytest.approx(1, abs=0.04)
    assert np.median(normal(lasting, WINDOWS).level / before.level) == pytest.approx(2, abs=0.08)


def test_newer_dates_count_more():
    values = np.repeat(100.0 + np.arange(12)[:, None], 24, axis=1)  # a line
    found = normal(values, 6)
    assert np.mean(values) < found.level[0] < 111


def test_below_two_dates_there_is_no_normal():
    assert np.isnan(normal(days(1), WINDOWS)).all()
    assert np.isnan(normal(np.empty((0, SLOTS)), WINDOWS)).all()
    assert np.isnan(normal(np.full((3, SLOTS), np.nan), WINDOWS)).all()


def test_a_skipped_hour_has_a_date_fewer_and_a_missing_reading_has_its_neighbours():
    values = days(3)
    values[2, 24:36] = np.nan  # clocks go forward: two o'clock is not there
    values[:, 150] = np.nan
    found = normal(values, WINDOWS)
    assert not np.isnan(found).any()
    values[1, 24:36] = np.nan
    hour = np.isnan(normal(values, WINDOWS).level)
    assert hour[24:36].all()
    assert hour.sum() == 12


@given(READINGS)
def test_what_is_known_is_finite_and_no_less_than_a_count(readings):
    level, scale = normal(by_date(runs(readings), 24)[1], 6)
    known = ~np.isnan(level)
    assert np.array_equal(known, ~np.isnan(scale))
    assert np.isfinite(level[known]).all()
    assert np.isfinite(scale[known]).all()
    assert (level[known] >= 0).all()
    assert (scale[known] >= np.sqrt(np.maximum(level[known], 1)) * (1 - 1e-12)).all()


def test_more_dates_than_count_and_windows_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="13 dates: the normal is made from the last 12 at most"):
        normal(np.zeros((13, 24)), 6)
    with pytest.raises(ValueError, match="5 windows do not divide 24 slots"):
        normal(np.zeros((2, 24)), 5)
