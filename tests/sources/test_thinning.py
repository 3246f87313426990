"""Counts per minute dealt out to a fleet: nothing lost, nothing invented, the same each time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.feeds import load_feed
from sources.readings import batch, milliseconds
from sources.thinning import Thinning, ThinningError

FEED = load_feed("service-use")  # a reading every ten seconds
START = 1_790_000_040_000 // 60_000 * 60_000


def minutes(counts: list[int]):
    return batch(["www"] * len(counts), START + 60_000 * np.arange(len(counts)), counts)


def dealt(thinning: Thinning, *batches) -> dict[tuple[int, str], int]:
    rows = {}
    for each in thinning.readings(batches):
        for time, name, value in zip(
            milliseconds(each).tolist(), each["ServiceName"].to_pylist(), each["Value"].to_pylist(), strict=True
        ):
            assert (time, name) not in rows
            rows[time, name] = value
    return rows


@given(st.lists(st.integers(0, 50_000), min_size=1, max_size=20), st.integers(1, 12), st.integers(0, 5))
def test_each_minutes_total_is_kept_exactly(counts, services, seed):
    rows = dealt(Thinning(FEED, services, seed), minutes(counts))
    assert len(rows) == len(counts) * services * 6
    totals = [0] * len(counts)
    for (time, _), value in rows.items():
        totals[(time - START) // 60_000] += value
    assert totals == counts


def test_every_service_reports_each_interval_in_order_of_time():
    rows = list(dealt(Thinning(FEED, 2), minutes([100])))
    assert rows == [(START + 10_000 * step, name) for step in range(6) for name in ("www-01", "www-02")]


def test_the_seed_and_nothing_else_decides():
    counts = list(range(3000))
    whole = dealt(Thinning(FEED, 3, 1), minutes(counts))
    split = minutes(counts)
    assert dealt(Thinning(FEED, 3, 1), split.slice(0, 7), split.slice(7)) == whole
    assert dealt(Thinning(FEED, 3, 2), minutes(counts)) != whole


def test_intervals_of_one_service_share_its_requests_evenly_and_services_differ():
    values = np.array(list(dealt(Thinning(FEED, 4, 3), minutes([60_000] * 50)).values())).reshape(-1, 6, 4)
    by_interval, by_service = values.sum(axis=(0, 2)), values.sum(axis=(0, 1))
    assert np.allclose(by_interval / by_interval.mean(), 1, atol=0.01)
    assert (np.diff(by_service) < 0).all()  # the first service is the largest
    noise = values[:, :, 0].std() / np.sqrt(values[:, :, 0].mean())
    assert 0.8 < noise < 1.2  # as of a Poisson stream


def test_what_does_not_suit_is_refused():
    with pytest.raises(ThinningError, match="does not divide a minute"):
        Thinning(load_feed("road-traffic"), 3)
    with pytest.raises(ThinningError, match="at least one service"):
        Thinning(FEED, 0)
    with pytest.raises(ThinningError, match="not a whole minute"):
        dealt(Thinning(FEED, 3), batch(["www"], [START + 1000], [5]))
