"""Alerts by week as bars, in SVG: the incidents that were opened, and beside them the readings that the plain rule flags."""

import datetime as dt

import numpy as np

from stack.backtest.result import WEEK_MS, Backtest

WIDTH, HEIGHT, GAP = 1000, 90, 0.2


def weekly_bars(result: Backtest) -> str:
    """Two charts, each with a scale of its own. Weeks count from the first reading."""
    return "".join(
        f"<figure><figcaption>{caption}</figcaption>{_bars(result, flags)}</figure>"
        for caption, flags in (
            ("Incidents opened", result.opened),
            ("Readings that the plain rule flags", result.plain),
        )
    )


def _bars(result: Backtest, flags: np.ndarray) -> str:
    first = int(result.rows.instants.min())
    weeks = (result.rows.instants - first) // WEEK_MS
    counts = np.bincount(weeks[flags], minlength=int(weeks.max()) + 1)
    most, width = max(int(counts.max()), 1), WIDTH / len(counts)
    bars = []
    for week, count in enumerate(counts.tolist()):
        start = first + week * WEEK_MS
        day = dt.datetime.fromtimestamp(start / 1000, dt.UTC)
        height, warm = HEIGHT * count / most, " class=warm" if start + WEEK_MS <= result.counted_from else ""
        box = f'x="{week * width:.1f}" y="{HEIGHT - height:.1f}" width="{width * (1 - GAP):.1f}" height="{height:.1f}"'
        bars.append(f"<rect{warm} {box}><title>{day:%Y-%m-%d}: {count:,}</title></rect>")
    picture = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img">{"".join(bars)}</svg>'
    return f"{picture}<p class=quiet>at most {most:,} a week</p>"
