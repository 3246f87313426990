"""Cells of a file as text: where they stand, and which of them are refused."""

import csv
import gzip
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stack.errors import StackError

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?\s*$"
Place = Callable[[int], str]  # of a row, counted from 0, as a message names it


def refuse(place: Place, column: str, cells: pa.Array, bad: np.ndarray, what: str, remedy: str) -> None:
    """Raises StackError naming the first of the bad cells, if there is one."""
    if not bad.any():
        return
    row = int(np.flatnonzero(bad)[0])
    others = f" ({np.count_nonzero(bad):,} such rows)" if np.count_nonzero(bad) > 1 else ""
    raise StackError(f"{place(row)}: column {column!r}: {cells[row].as_py()!r} {what}{others}", remedy=remedy)


def refuse_skipped(place: Place, column: str, cells: pa.Array, skipped: np.ndarray, zone: str) -> None:
    """`refuse` for local times that the zone's clocks never showed."""
    what = f"never was: daylight saving skipped it in {zone}"
    remedy = "name the zone whose clock wrote the times with --timezone, UTC perhaps; or delete the row"
    refuse(place, column, cells, skipped, what, remedy)


def csv_place(path: Path, separator: str = ",") -> Place:
    """path:line, the line on which a row ends; the header is line 1."""

    def place(row: int) -> str:
        with opened(path) as file:
            reader = csv.reader(file, delimiter=separator)
            full = (fields for fields in reader if fields)
            next(islice(full, row + 1, None))
            return f"{path}:{reader.line_num}"

    return place


def opened(path: Path) -> TextIO:
    """A file of text, plain or .gz, without the byte order mark that it may begin with."""
    return (
        gzip.open(path, "rt", newline="", encoding="utf-8-sig")
        if path.name.endswith(".gz")
        else path.open(newline="", encoding="utf-8-sig")
    )


def matching(cells: pa.Array, pattern: str) -> np.ndarray:
    return true(pc.match_substring_regex(cells, pattern))


def true(mask: pa.Array) -> np.ndarray:
    return pc.fill_null(mask, False).to_numpy(zero_copy_only=False)
