"""Which column of a sample has the times, and how they are written."""

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from contracts.time_formats import EXAMPLE, TimeFormat
from sources.columns import EPOCH, FIRST_EPOCH_MS, iso_text, text_times
from sources.wall_clock import first_pass
from stack.errors import StackError
from stack.sample.cells import matching, refuse
from stack.sample.files import Sample

Ask = Callable[[str, str, list[str]], str]  # (option, what is asked, choices): the answer; raises StackError if there is none
TRIED = 1000  # rows that tell what a column may be
FIRST, END = (int(dt.datetime(year, 1, 1, tzinfo=dt.UTC).timestamp()) * 1000 for year in (1990, 2101))
NAMES = ("time", "timestamp", "datetime", "date")
REMEDY = (
    "write ISO 8601 (2014-07-01 00:30:00, with or without offset), epoch seconds or epoch milliseconds; "
    f"or say how the times are written: --time-format '{EXAMPLE}'"
)
_DATES = [date.replace(" ", mark) for mark in "/.-" for date in ("%d %m %Y", "%m %d %Y", "%Y %m %d", "%d %m %y", "%m %d %y")]
_CLOCKS = ["", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p"]
# Those that are tried where no option names one.
COMMON = [
    TimeFormat.parsed(date + clock)
    for date in (*_DATES, "%d-%b-%Y", "%d %b %Y", "%b %d, %Y")
    for clock in _CLOCKS
    if date != "%Y-%m-%d" or "%p" in clock  # the others are ISO 8601
]


@dataclass(frozen=True)
class Times:
    """stamps: epoch milliseconds; where `local`, milliseconds that the local clock shows. unit: of epoch numbers.
    form: null for ISO 8601 and for numbers."""

    column: str
    why: str
    stamps: np.ndarray
    local: np.ndarray
    unit: Literal["s", "ms"] | None
    form: TimeFormat | None = None

    def kept(self, rows: np.ndarray) -> "Times":
        """Of these rows only, by a mark for each."""
        return replace(self, stamps=self.stamps[rows], local=self.local[rows])

    def skipped(self, zone: str) -> np.ndarray:
        """Which rows have a local time that the zone's clocks never showed: boolean."""
        rows = self.local.copy()
        rows[self.local] = first_pass(self.stamps[self.local], zone)[2]
        return rows

    @property
    def shown(self) -> str:
        if self.unit:
            return "epoch seconds" if self.unit == "s" else "epoch milliseconds"
        offset = "local times" if self.local.any() else "times with offset" if self.form else "ISO 8601 with offset"
        return f"{offset}, {self.form.text}" if self.form else offset


def times_in(sample: Sample, named: str | None, form: TimeFormat | None, ask: Ask) -> Times:
    """Raises StackError naming the first row whose time can't be read."""
    if named:
        column, why = existing(sample, named, "--time-column"), "--time-column"
    else:
        column, why = _column(sample, form, ask)
    cells = sample.columns[column]
    form = form or form_of(cells, ask)
    stamps, readable, local = text_times(iso_text(cells, form) if form else cells)
    what = f"is no time of the format {form.text}" if form else "is no time"
    refuse(sample.place, column, cells, ~readable, what, REMEDY)
    refuse(sample.place, column, cells, (stamps < FIRST) | (stamps >= END), "is outside of the years 1990 to 2100", REMEDY)
    epoch = matching(cells, EPOCH)
    unit: Literal["s", "ms"] | None = None
    if epoch.any():
        refuse(sample.place, column, cells, ~epoch, "is written otherwise than the times above or below it", REMEDY)
        numbers = cells.cast(pa.int64()).to_numpy()
        unit = "s" if numbers[0] < FIRST_EPOCH_MS else "ms"
        other = (numbers < FIRST_EPOCH_MS) != (unit == "s")
        refuse(sample.place, column, cells, other, "counts another unit than the first row", "give all times in one unit")
    return Times(column, why, stamps, local, unit, form)


def form_of(cells: pa.Array, ask: Ask) -> TimeFormat | None:
    """How a column's times are written; null for ISO 8601 and for numbers, and where the first rows do not tell."""
    tried = cells.slice(0, TRIED)
    likely = [] if _reads(tried, None) else _forms(tried)
    if len(likely) > 1:  # the day and the month change places: a day after the 12th tells, where there is one
        likely = _forms(cells) or likely
    if len(likely) > 1:
        asked = ask("--time-format", "whether the day or the month comes first in its times", [form.text for form in likely])
        return TimeFormat.parsed(asked)
    return likely[0] if likely else None


def existing(sample: Sample, name: str, option: str) -> str:
    if name not in sample.columns:
        columns = ", ".join(sample.columns)
        raise StackError(f"{sample.path}: no column {name!r} for {option}", remedy=f"name one of this file's: {columns}")
    return name


def one_of(found: list[str], names: tuple[str, ...]) -> str | None:
    """The only one, or the only one that has such a name."""
    called = [each for each in found if each.lower().replace("_", "") in names]
    return found[0] if len(found) == 1 else called[0] if len(called) == 1 else None


def _reads(cells: pa.Array, form: TimeFormat | None) -> bool:
    """Whether all of them are times of the format; without one, ISO 8601 or numbers."""
    stamps, readable, _ = text_times(iso_text(cells, form) if form else cells)
    return bool(readable.all() and ((stamps >= FIRST) & (stamps < END)).all())


def _forms(cells: pa.Array) -> list[TimeFormat]:
    """The common formats of which all of them can be."""
    first = cells[0].as_py() or ""
    return [form for form in COMMON if re.match(form.pattern(), first) and _reads(cells, form)]


def _column(sample: Sample, form: TimeFormat | None, ask: Ask) -> tuple[str, str]:
    dated, numbered = [], []
    for name, cells in sample.columns.items():
        tried = cells.slice(0, TRIED)
        if _reads(tried, form) or (not form and _forms(tried)):
            (numbered if matching(tried, EPOCH).all() else dated).append(name)
    if not dated and not numbered:
        first = ", ".join(f"{name} {cells[0].as_py()!r}" for name, cells in list(sample.columns.items())[:8])
        raise StackError(f"{sample.place(0)}: no column has times that can be read; there are {first}", remedy=REMEDY)
    found = dated or numbered
    if not (column := one_of(found, NAMES)):
        return ask("--time-column", "which column has the times", found), "as you say"
    return column, "the only column of times" if len(found) == 1 else "its name, among columns of times"
