"""Growth: by how much what comes next outgrows the mean of the last four weeks: a second model, laid over that of the seasons."""

import numpy as np

WEEKS = 4
LEAST, MOST = 0.5, 2.0


def factor(weekly_sums: np.ndarray) -> float:
    """The coming week's sum over the mean of the last four, were the weeks to go on as they did.

    weekly_sums: the sums of four weeks, oldest first. The slope per week is the median of the slopes of all six pairs (Theil
    1950, Sen 1968: one week unlike the others hardly moves it). The mean of weeks 1 to 4 stands for week 2.5, and the coming
    one is week 5: factor = 1 + 2.5 * slope / mean, kept between 0.5 and 2; 1 with fewer than four weeks or without traffic.
    """
    mean = weekly_sums.mean() if len(weekly_sums) == WEEKS else 0.0
    if mean <= 0:
        return 1.0
    earlier, later = np.triu_indices(WEEKS, k=1)
    slope = np.median((weekly_sums[later] - weekly_sums[earlier]) / (later - earlier))
    return float(np.clip(1 + (WEEKS + 1) / 2 * slope / mean, LEAST, MOST))
