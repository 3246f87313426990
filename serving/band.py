"""The region of values that a feed's rule lets pass: what the chart shades."""

from typing import Any

import numpy as np

from contracts.feeds import Rule

Doubles = np.ndarray | float


def band(rule: Rule, expected: Doubles, spread: Doubles) -> tuple[Any, Any]:
    """Lowest and highest value that the rule does not flag beside this baseline; NaN where it flags nothing at all.

    A reading is flagged when every condition that is on holds, so the band is the widest of what each condition lets pass:
    percent lets pass |Value - Expected| <= Expected * percent / 100, spread lets pass |Value - Expected| <= spread * Spread,
    minimum lets pass every value below it as long as Expected is below it too. Values are counts, so the band ends at zero.
    """
    half: Doubles = 0.0
    if rule.percent is not None:
        half = np.abs(expected) * rule.percent / 100
    if rule.spread is not None:
        half = np.maximum(half, rule.spread * np.asarray(spread))  # NaN where either is
    low, high = expected - half, expected + half
    if rule.minimum is not None:
        below = ~np.isnan(half) & (np.asarray(expected) < rule.minimum)
        low, high = np.where(below, 0.0, low), np.where(below, np.maximum(high, rule.minimum), high)
    return np.maximum(low, 0.0), high
