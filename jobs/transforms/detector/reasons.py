"""Why a reading has its score, in words."""

import numpy as np

from jobs.transforms.detector.detector import Score
from jobs.transforms.detector.rarity import MEASURES
from jobs.transforms.detector.seasons import NAMES

NORMAL = {
    "level": "the level of the last hours",
    "day": "what is usual at this time of day",
    "week": "what is usual at this time of the week",
    "holiday": "what is usual at this time of a Sunday (it is a public holiday)",
}


def reason(score: Score, row: int, side: int = 0) -> str:
    """How much the measure deviates that made the score of that row, and how many before it deviated as much.

    side: 1 or -1 of the incident that the reading belongs to. If the measure deviates to the other side, the text
    has the reading's own error, because the score says nothing of this incident.
    """
    if score.stuck[row]:
        return "the value repeats itself for longer than ever before"
    if not np.isfinite(score.size[row]):
        return "no reading, or none before it"
    normal = NORMAL[NAMES[int(score.season[row])]]
    if score.deviation[row] * side < 0:
        text = f"the reading is {_scales(score.size[row])} {normal}"
    else:
        text = _measured(MEASURES[int(score.measure[row])], float(score.deviation[row]), normal) + _rare(score, row)
    return text + ("; since then the level has shifted for good" if score.shifted[row] else "")


def _measured(measure: str, deviation: float, normal: str) -> str:
    if measure == "change":
        return f"a sudden change {'up' if deviation >= 0 else 'down'} by {abs(deviation):.1f} scales"
    return f"{_scales(deviation)} {normal}" + (", over three spells" if measure == "error of three" else "")


def _scales(deviation: float) -> str:
    return f"{abs(deviation):.1f} scales {'above' if deviation >= 0 else 'below'}"


def _rare(score: Score, row: int) -> str:
    seen, beyond = round(score.seen[row]), round(score.beyond[row])
    if not seen:
        return "; too few earlier readings to say how rare that is"
    return f"; {beyond:,} of {seen:,} earlier readings deviated as much"
