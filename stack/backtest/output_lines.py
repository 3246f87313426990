"""The lines of the output file, made from whole columns: a history has tens of millions of them."""

from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.transforms.detector.detector import Score
from jobs.transforms.detector.incident_life import NO_INCIDENT
from jobs.transforms.detector.moments import Floats, Ints

HEADER = ("timestamp", "value", "expected", "predicted_pct", "anomaly_score", "is_anomaly", "incident_id")
AT_ONCE = 200_000  # lines
DIGITS = 6  # of the expected value and of the percentage
POWERS = np.array([10.0**each for each in range(23)])  # exact: a rounded number is the one nearest to its digits
SPECIAL = r'[,"\r\n]'


def predicted_pct(values: Floats, expected: Floats) -> Floats:
    """100 * value / expected; NaN where either is missing or expected is zero."""
    known = np.isfinite(expected) & (expected != 0)
    return np.where(known, 100 * values / np.where(known, expected, 1), np.nan)


def cells(timestamps: pa.Array, given: pa.Array, values: Floats, score: Score, onsets: Ints, ids: pa.Array) -> list[pa.Array]:
    """The columns of HEADER as text, of one entry per reading."""
    return [
        quoted(timestamps),
        quoted(given),
        _numbers(score.expected),
        _numbers(predicted_pct(values, score.expected)),
        _scores(score.score),
        pa.array(["false", "true"]).take(pa.array((onsets != NO_INCIDENT).astype(np.int8))),
        quoted(ids),
    ]


def quoted(text: pa.Array) -> pa.Array:
    """As a CSV file wants it."""
    special = pc.fill_null(pc.match_substring_regex(text, SPECIAL), False)
    if not pc.any(special).as_py():
        return text
    doubled = pc.replace_substring(text, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise('"', doubled, '"', ""), text)


def write(file: BinaryIO, columns: list[pa.Array]) -> None:
    """One line per entry; a null is an empty cell."""
    for first in range(0, len(columns[0]), AT_ONCE):
        some = [each.slice(first, AT_ONCE) for each in columns]
        joined = pc.binary_join_element_wise(*some, ",", null_handling="replace", null_replacement="")
        lines = pc.binary_join_element_wise(joined, "", "\n")
        _, offsets, text = lines.buffers()
        ends = np.frombuffer(offsets, np.int32)[[lines.offset, lines.offset + len(lines)]]
        file.write(memoryview(text)[ends[0] : ends[1]])


def _numbers(values: Floats) -> pa.Array:
    """To DIGITS digits; null for NaN."""
    known = np.isfinite(values) & (values != 0)
    places = DIGITS - 1 - np.floor(np.log10(np.abs(np.where(known, values, 1)))).astype(np.int64)
    up, down = POWERS[np.clip(places, 0, 22)], POWERS[np.clip(-places, 0, 22)]
    rounded = np.where(known, np.rint(values * up / down) / up * down, values)
    return pa.array(rounded, mask=np.isnan(values)).cast(pa.string())


def _scores(scores: Floats) -> pa.Array:
    """To four decimals. Few are different, so each is written once."""
    coded = pa.array(np.rint(scores * 10_000).astype(np.int64)).dictionary_encode()
    return pa.array([f"{each / 10_000:.4f}" for each in coded.dictionary.to_pylist()], pa.string()).take(coded.indices)
