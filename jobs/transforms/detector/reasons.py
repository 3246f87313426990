"""Why a reading has its score, in words."""

import numpy as np

from jobs.transforms.detector.detector import Score
from jobs.transforms.detector.seasons import NAMES

USUAL = {
    "level": "the level of the last hours",
    "day": "what is usual at this time of day",
    "week": "what is usual at this time of the week",
    "holiday": "what is usual at this time of a Sunday (it is a public holiday)",
}


def reason(score: Score, row: int) -> str:
    """By which season the reading of that row was expected, how large the error of its spell is, and how many before it deviated
    as much."""
    if score.stuck[row]:
        return "the value repeats itself for longer than ever before"
    if not np.isfinite(score.size[row]):
        return "no reading, or none before it"
    seen, beyond = round(score.seen[row]), round(score.beyond[row])
    side = "above" if score.spell[row] >= 0 else "below"
    text = f"{abs(score.spell[row]):.1f} scales {side} {USUAL[NAMES[int(score.season[row])]]}"
    text += (
        f"; {beyond:,} of {seen:,} earlier readings deviated as much"
        if seen
        else "; too few earlier readings to say how rare that is"
    )
    return text + ("; since then the level has shifted for good" if score.shifted[row] else "")
