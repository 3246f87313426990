"""An outage of four hours and the nightly builds after it: the band of the next weeks is as if there had been no outage."""

import datetime as dt
from pathlib import Path

import numpy as np
import pytest

from contracts.feeds import Feed
from jobs import build_baseline
from jobs.backends import tables
from tests.stack.backtest.histories import history

STEP, HOUR = 300, 3600
FEED = Feed(
    name="calls",
    description="calls in five minutes",
    record="service_use_record",
    interval_seconds=STEP,
    spread_window_seconds=HOUR,
)
SLOTS, PER_HOUR = 86_400 // STEP, HOUR // STEP
MONDAY, WEEK, WEEKS = dt.date(2026, 3, 2), dt.timedelta(weeks=1), 4
DATES = 12  # Mondays of a robust normal; the newest has the outage
OUTAGE = slice(10 * PER_HOUR, 14 * PER_HOUR)
APART = np.r_[: 9 * PER_HOUR, 15 * PER_HOUR : SLOTS]  # slots that are not pooled with those of the outage
SERVICES = 4  # and a twin of each, which has no outage
Band = dict[str, np.ndarray]  # by column of a baseline, a figure by service and slot


def mondays() -> np.ndarray:
    """Counts around a daily curve, by service, date and slot; each date as a whole is higher or lower by a few per cent."""
    random = np.random.default_rng(3)
    curve = 200 * (1 + 0.7 * np.sin(np.arange(SLOTS) / SLOTS * 2 * np.pi))
    return random.poisson(curve * random.normal(1, 0.03, (SERVICES, DATES + WEEKS - 1, 1)))


@pytest.fixture
def bands(run_job, lake_platform, monkeypatch):
    """bands(as_of): the bands of the services, and those of their twins, by the nightly build of that date."""
    monkeypatch.setattr("jobs.backends.settings.load_feed", lambda name: FEED)
    quiet = mondays()
    broken = quiet.copy()
    broken[:, DATES - 1, OUTAGE] = 0
    first = round(dt.datetime.combine(MONDAY, dt.time(), dt.UTC).timestamp())
    rows = [
        (f"{name}-{service}", 1000 * (first + date * WEEK.days * 86_400 + slot * STEP), int(value))
        for name, values in (("broken", broken), ("quiet", quiet))
        for (service, date, slot), value in np.ndenumerate(values)
    ]
    history(Path(lake_platform.lake), FEED, rows)

    def built(as_of: dt.date) -> tuple[Band, Band]:
        run_job(build_baseline, lake_platform, "--feed", FEED.name, "--run-id", str(as_of), "--as-of", str(as_of))
        table = tables.candidate(lake_platform, FEED)
        found = table.dataset(table.version()).to_table().sort_by("ServiceName")
        figures = {name: np.array(found.column(name).to_pylist()) for name in ("Level", "Scale", "Last4Avg")}
        with_outage, without = ({name: each[of] for name, each in figures.items()} for of in np.split(np.arange(2 * SERVICES), 2))
        return with_outage, without

    return built


@pytest.mark.full
def test_the_band_of_the_weeks_after_an_outage_is_as_it_was(bands):
    for week in range(WEEKS):
        after, before = bands(MONDAY + (DATES + week) * WEEK)
        off = np.abs(after["Level"] - before["Level"]) / before["Scale"]
        wider = after["Scale"] / before["Scale"]
        assert off[:, OUTAGE].mean() < 0.1
        assert off.max() < 1
        assert wider[:, OUTAGE].mean() == pytest.approx(1, abs=0.1)
        assert wider[:, OUTAGE].mean(1) == pytest.approx(np.ones(SERVICES), abs=0.15)
        assert off[:, APART].max() < 0.15
        assert wider[:, APART] == pytest.approx(np.ones((SERVICES, len(APART))), abs=0.1)
        plain = np.abs(after["Last4Avg"] - before["Last4Avg"]) / before["Scale"]
        assert plain[:, OUTAGE].mean() > 2, "the mean of the last four dates moves"
