"""The region of values that a feed's rule lets pass: what the chart shades."""

from contracts.feeds import Rule


def band(rule: Rule, expected: float | None, spread: float | None) -> tuple[float, float] | None:
    """Lowest and highest value that the rule does not flag beside this baseline; None where it flags nothing at all.

    A reading is flagged when every condition that is on holds, so the band is the widest of what each condition lets pass:
    percent lets pass |Value - Expected| <= Expected * percent / 100, spread lets pass |Value - Expected| <= spread * Spread,
    minimum lets pass every value below it as long as Expected is below it too. Values are counts, so the band ends at zero.
    """
    if expected is None or (rule.spread is not None and spread is None):
        return None
    halves = []
    if rule.percent is not None:
        halves.append(abs(expected) * rule.percent / 100)
    if rule.spread is not None:
        halves.append(rule.spread * spread)
    low, high = expected - max(halves), expected + max(halves)
    if rule.minimum is not None and expected < rule.minimum:
        low, high = 0.0, max(high, rule.minimum)
    return max(low, 0.0), high
