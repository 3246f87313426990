"""The median of values that count differently."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def weighted_median(values: Floats, weights: Floats) -> Floats:
    """The median over the last axis; NaN where nothing counts. weights: of the same shape; zero counts nothing, nor does NaN.

    The values are laid in a row by size (equal ones in the order given), each as wide as its weight and standing in the middle of
    its width. The median stands at half of the whole width, on the straight line between its two neighbours. With equal weights
    it is the usual median.
    """
    if not values.shape[-1]:
        return np.full(values.shape[:-1], np.nan)
    values = np.where(weights > 0, values, np.nan)
    order = np.argsort(values, axis=-1, kind="stable")  # NaN last
    values = np.take_along_axis(values, order, -1)
    weights = np.where(np.isnan(values), 0.0, np.take_along_axis(weights, order, -1))
    ends = np.cumsum(weights, axis=-1)
    half, stands = ends[..., -1:] / 2, ends - weights / 2
    count = (weights > 0).sum(-1, keepdims=True)
    low = np.maximum(((stands <= half) & (weights > 0)).sum(-1, keepdims=True) - 1, 0)
    high = np.minimum(low + 1, np.maximum(count - 1, 0))
    (below, above), (left, right) = (
        [np.take_along_axis(each, at, -1)[..., 0] for at in (low, high)] for each in (values, stands)
    )
    way = np.divide(half[..., 0] - left, right - left, out=np.zeros(left.shape), where=right > left)
    median: Floats = below + way * (above - below)
    return median
