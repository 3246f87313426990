"""Why a reading has its score, in words."""

import numpy as np

from jobs.transforms.detector.detector import Score
from jobs.transforms.detector.seasons import NAMES

EXPECTED_BY = {
    "level": "the level of the last hours",
    "day": "this time of day",
    "week": "this time of the week",
    "holiday": "this time of a Sunday, as it is a holiday",
}


def reason(score: Score, row: int) -> str:
    """By which season the reading of that row was expected, how large its error is, and how many readings before it deviated as
    much."""
    if score.stuck[row]:
        return "the value repeats itself for longer than ever before"
    if not np.isfinite(score.size[row]):
        return "no reading, or none before it"
    seen, beyond = round(score.seen[row]), round(score.beyond[row])
    side = "above" if score.size[row] >= 0 else "below"
    text = f"{abs(score.size[row]):.1f} scales {side} what {EXPECTED_BY[NAMES[int(score.season[row])]]} leads to expect"
    text += (
        f"; {beyond:,} of {seen:,} readings before deviated as much"
        if seen
        else "; too few readings before it to tell how rare that is"
    )
    return text + ("; since then the level has shifted for good" if score.shifted[row] else "")
