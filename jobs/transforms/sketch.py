"""Percentiles from counts in bins, of numbers of any size, mergeable by adding counts: DDSketch.

Source: Masson, Rim, Lee, "DDSketch: A Fast and Fully-Mergeable Quantile Sketch with Relative-Error Guarantees", VLDB 2019. Bin k
holds (g^(k-1), g^k] with g = (1 + a) / (1 - a), so that 2 g^k / (g + 1) is within the share `a` of every number in it. Which
bin a number falls into depends on nothing else: the same numbers give the same sketch in any order, in any number of parts.
"""

import numpy as np

ACCURACY = 0.01  # the relative error of a percentile
_GAMMA = (1 + ACCURACY) / (1 - ACCURACY)
_LOG = np.log(_GAMMA)
_SHIFT = 40_000  # beyond any k of a double, so that a bin's number has its sign and bins are in the order of what they hold
_TINY = np.finfo(float).tiny  # below it, a number counts as zero


def bins(values: np.ndarray) -> np.ndarray:
    """The bins of finite numbers, int32, ascending with them: 0 of zero, negative of negative ones."""
    size = np.abs(values)
    nonzero = size >= _TINY
    number = np.ceil(np.log(np.where(nonzero, size, 1.0)) / _LOG).astype(np.int32) + _SHIFT
    return np.where(nonzero, np.sign(values).astype(np.int32) * number, np.int32(0))


def value(bins_: np.ndarray) -> np.ndarray:
    """What stands for the numbers of each bin: a finite number, also where their bin reaches beyond the largest double."""
    with np.errstate(over="ignore"):
        size = np.exp((np.abs(bins_) - _SHIFT) * _LOG + np.log(2 / (_GAMMA + 1)))
    return np.where(bins_ == 0, 0.0, np.sign(bins_) * np.minimum(size, np.finfo(float).max))


def percentiles(ascending: np.ndarray, counts: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """For each share q from 0 to 1, the number at rank q (n - 1) of the n counted in those bins, within ACCURACY of it.

    Between two ranks, the lower counts: what numpy calls the method "lower".
    """
    ranks = np.floor(shares * (counts.sum() - 1))
    return value(ascending[np.searchsorted(np.cumsum(counts), ranks, side="right")])
