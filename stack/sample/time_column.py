"""Which column of a sample has the times, and how they are written."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from sources.columns import EPOCH, FIRST_EPOCH_MS, text_times
from sources.localtime import first_pass
from stack.errors import StackError
from stack.sample.cells import matching, refuse
from stack.sample.files import Sample

Ask = Callable[[str, str, list[str]], str]  # (option, what is asked, choices): the answer; raises StackError if there is none
TRIED = 1000  # rows that tell what a column may be
FIRST, END = (int(dt.datetime(year, 1, 1, tzinfo=dt.UTC).timestamp()) * 1000 for year in (1990, 2101))
NAMES = ("time", "timestamp", "datetime", "date")
REMEDY = "write ISO 8601 (2014-07-01 00:30:00, with or without offset), epoch seconds or epoch milliseconds"


@dataclass(frozen=True)
class Times:
    """stamps: epoch milliseconds; where `local`, milliseconds that the local clock shows. unit: of epoch numbers."""

    column: str
    why: str
    stamps: np.ndarray
    local: np.ndarray
    unit: Literal["s", "ms"] | None

    @property
    def shown(self) -> str:
        if self.unit:
            return "epoch seconds" if self.unit == "s" else "epoch milliseconds"
        return "local times" if self.local.any() else "ISO 8601 with offset"


def times_in(sample: Sample, named: str | None, ask: Ask) -> Times:
    """Raises StackError naming the first row whose time can't be read."""
    if named:
        column, why = existing(sample, named, "--time-column"), "--time-column"
    else:
        column, why = _column(sample, ask)
    cells = sample.columns[column]
    stamps, readable, local = text_times(cells)
    refuse(sample.place, column, cells, ~readable, "is no time", REMEDY)
    refuse(sample.place, column, cells, (stamps < FIRST) | (stamps >= END), "is outside of the years 1990 to 2100", REMEDY)
    epoch = matching(cells, EPOCH)
    unit: Literal["s", "ms"] | None = None
    if epoch.any():
        refuse(sample.place, column, cells, ~epoch, "is written otherwise than the times above or below it", REMEDY)
        numbers = cells.cast(pa.int64()).to_numpy()
        unit = "s" if numbers[0] < FIRST_EPOCH_MS else "ms"
        other = (numbers < FIRST_EPOCH_MS) != (unit == "s")
        refuse(sample.place, column, cells, other, "counts another unit than the first row", "give all times in one unit")
    return Times(column, why, stamps, local, unit)


def refuse_skipped(sample: Sample, times: Times, zone: str) -> None:
    """Raises StackError naming the first local time that the zone's clocks never showed."""
    skipped = np.zeros(len(times.local), bool)
    skipped[times.local] = first_pass(times.stamps[times.local], zone)[2]
    what = f"never was: daylight saving skipped it in {zone}"
    remedy = "name the zone whose clock wrote the times with --timezone, UTC perhaps; or delete the row"
    refuse(sample.place, times.column, sample.columns[times.column], skipped, what, remedy)


def existing(sample: Sample, name: str, option: str) -> str:
    if name not in sample.columns:
        columns = ", ".join(sample.columns)
        raise StackError(f"{sample.path}: no column {name!r} for {option}", remedy=f"name one of this file's: {columns}")
    return name


def one_of(found: list[str], names: tuple[str, ...]) -> str | None:
    """The only one, or the only one that has such a name."""
    called = [each for each in found if each.lower().replace("_", "") in names]
    return found[0] if len(found) == 1 else called[0] if len(called) == 1 else None


def _column(sample: Sample, ask: Ask) -> tuple[str, str]:
    dated, numbered = [], []
    for name, cells in sample.columns.items():
        tried = cells.slice(0, TRIED)
        stamps, readable, _ = text_times(tried)
        if readable.all() and ((stamps >= FIRST) & (stamps < END)).all():
            (numbered if matching(tried, EPOCH).all() else dated).append(name)
    if not dated and not numbered:
        first = ", ".join(f"{name} {cells[0].as_py()!r}" for name, cells in list(sample.columns.items())[:8])
        raise StackError(f"{sample.place(0)}: no column has times that can be read; there are {first}", remedy=REMEDY)
    found = dated or numbered
    if not (column := one_of(found, NAMES)):
        return ask("--time-column", "which column has the times", found), "as you say"
    return column, "the only column of times" if len(found) == 1 else "its name, among columns of times"
