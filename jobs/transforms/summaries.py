"""Summaries of many numbers by group, mergeable: moments, extremes and percentiles. Tables of Arrow in, tables of Arrow out.

A group is a row's `Key`. What is known of groups is two tables:
SUMS  one row per Key: Count long, Mean double, M2 double (sum of squared differences from the mean), Min double, Max double.
BINS  one row per (Key, Bin): Bin int and Count long, see `sketch`.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.transforms import sketch

_FLOAT = pa.float64()
SUMS = pa.schema({"Key": pa.string(), "Count": pa.int64(), "Mean": _FLOAT, "M2": _FLOAT, "Min": _FLOAT, "Max": _FLOAT})
BINS = pa.schema({"Key": pa.string(), "Bin": pa.int32(), "Count": pa.int64()})
PERCENTILES = {"P50": 0.5, "P90": 0.9, "P99": 0.99}
_FIGURES = ("Average", "Min", "Max", "Variance", "StandardDeviation", *PERCENTILES)
SUMMARY = pa.schema(
    {"Key": pa.string(), "Count": pa.int64()}
    | dict.fromkeys(_FIGURES, _FLOAT)
    | {"Bins": pa.list_(pa.int32()), "Counts": pa.list_(pa.int64())}
)


def of(keys: pa.Array, values: pa.Array) -> tuple[pa.Table, pa.Table]:
    """SUMS and BINS of finite numbers by key."""
    groups = pa.table({"Key": keys, "Value": values}).group_by("Key")
    found = groups.aggregate([("Value", name) for name in ("count", "mean", "variance", "min", "max")])
    m2 = pc.multiply(found.column("Value_variance"), pc.cast(found.column("Value_count"), _FLOAT))
    columns = [found.column(f"Value_{name}") for name in ("count", "mean", "min", "max")]
    sums = pa.table([found.column("Key"), *columns[:2], m2, *columns[2:]], schema=SUMS)
    ones = pa.array(np.ones(len(values), dtype=np.int64))
    return sums, merged_bins(pa.table([keys, pa.array(sketch.bins(values.to_numpy())), ones], schema=BINS))


def merged_sums(sums: pa.Table) -> pa.Table:
    """One row per key of rows that know different numbers. Chan, Golub, LeVeque (1979): "Updating Formulae and a Pairwise
    Algorithm for Computing Sample Variances"."""
    found = sums.column("Key").combine_chunks().dictionary_encode()
    of_key, size = found.indices.to_numpy(), len(found.dictionary)
    count, mean, m2, low, high = (sums.column(name).to_numpy() for name in SUMS.names[1:])
    total = np.bincount(of_key, count, size)
    together = np.bincount(of_key, count * mean, size) / total
    spread = np.bincount(of_key, m2 + count * (mean - together[of_key]) ** 2, size)
    lowest, highest = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(lowest, of_key, low)
    np.maximum.at(highest, of_key, high)
    return pa.table([found.dictionary, total.astype(np.int64), together, spread, lowest, highest], schema=SUMS)


def merged_bins(bins: pa.Table) -> pa.Table:
    """One row per key and bin of rows that count different numbers."""
    found = bins.group_by(["Key", "Bin"]).aggregate([("Count", "sum")])
    return pa.table([found.column(name) for name in ("Key", "Bin", "Count_sum")], schema=BINS)


def summaries(sums: pa.Table, bins: pa.Table) -> pa.Table:
    """SUMMARY of every key of SUMS, by key. Variance: of the numbers themselves (divided by Count)."""
    sums, bins = sums.sort_by("Key"), bins.sort_by([("Key", "ascending"), ("Bin", "ascending")])
    count, variance = sums.column("Count").to_numpy(), sums.column("M2").to_numpy() / sums.column("Count").to_numpy()
    number, counted = bins.column("Bin").to_numpy(), bins.column("Count").to_numpy()
    # Both tables hold the same keys in the same order: a key's bins are those from one start to the next.
    starts = _starts(bins.column("Key").combine_chunks())
    ends = np.append(starts[1:], len(number))
    shares = np.array(list(PERCENTILES.values()))
    found = np.array([sketch.percentiles(number[a:b], counted[a:b], shares) for a, b in zip(starts, ends, strict=True)])
    offsets = pa.array(np.append(starts, len(number)).astype(np.int32))
    # A percentile is one of the numbers, within the sketch's accuracy, and lies between their extremes.
    low, high = sums.column("Min").to_numpy(), sums.column("Max").to_numpy()
    percentiles = [np.clip(found[:, place], low, high) for place in range(len(PERCENTILES))]
    columns = [sums.column("Key"), count, sums.column("Mean"), low, high, variance, np.sqrt(variance), *percentiles]
    lists = [pa.ListArray.from_arrays(offsets, pa.array(each)) for each in (number, counted)]
    return pa.table([*columns, *lists], schema=SUMMARY)


def _starts(keys: pa.Array) -> np.ndarray:
    """Where each run of equal keys begins."""
    if len(keys) == 0:
        return np.zeros(0, dtype=np.int64)
    changes = pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.flatnonzero(changes) + 1])


def sums_and_bins(found: pa.Table) -> tuple[pa.Table, pa.Table]:
    """SUMS and BINS of a SUMMARY, to be merged with others; keys may be there more than once."""
    count = pc.cast(found.column("Count"), _FLOAT)
    figures = [found.column(name) for name in ("Key", "Count", "Average")]
    sums = [*figures, pc.multiply(found.column("Variance"), count), found.column("Min"), found.column("Max")]
    bins = found.column("Bins").combine_chunks()
    keys = found.column("Key").combine_chunks().take(pc.list_parent_indices(bins))
    counted = [keys, pc.list_flatten(bins), pc.list_flatten(found.column("Counts").combine_chunks())]
    return pa.table(sums, schema=SUMS), pa.table(counted, schema=BINS)
