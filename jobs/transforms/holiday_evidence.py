"""What a holiday was like, from the runs of its feed: for each service, its unlikeness to each kind of day (`holiday_kinds`)."""

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

from jobs.transforms import normal
from jobs.transforms.holiday_kinds import KINDS, Kind, unlikeness, unlikeness_to_itself
from jobs.transforms.packed import How

Floats = npt.NDArray[np.float64]

EPOCH = dt.date(1970, 1, 1)
EVIDENCE = "ServiceName string, " + ", ".join(f"{kind} double" for kind in KINDS)
_SCHEMA = pa.schema([("ServiceName", pa.string()), *((kind, pa.float64()) for kind in KINDS)])


class Compared(NamedTuple):
    """A holiday and the dates that it is compared with, ascending. year_before: the same holiday then; None: not known."""

    holiday: dt.date
    sundays: Sequence[dt.date]
    weekdays: Sequence[dt.date]
    year_before: dt.date | None = None
    weekdays_before: Sequence[dt.date] = ()  # the weekday's dates before that

    @property
    def near(self) -> list[dt.date]:
        """Those of its own year, ascending."""
        return sorted({self.holiday, *self.sundays, *self.weekdays})

    @property
    def dates(self) -> list[dt.date]:
        """All of them, ascending."""
        before = {self.year_before, *self.weekdays_before} if self.year_before else set()
        return sorted({*self.near, *(date for date in before if date)})


def evidence(runs: DataFrame, compared: Compared, how: How) -> DataFrame:
    """EVIDENCE: one row for each service, from the runs (baseline.RUNS) of all these dates. NaN: not known."""

    def judged(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        unlike = of_service(table, compared, how)
        return pa.table([[key[0].as_py()], *([unlike[kind]] for kind in KINDS)], schema=_SCHEMA)

    return runs.groupBy("ServiceName").applyInArrow(judged, EVIDENCE)


def of_service(runs: pa.Table, compared: Compared, how: How) -> dict[Kind, float]:
    """By kind, its unlikeness; NaN: not known."""
    dates, values = normal.by_date(runs, how.slots)
    found = {int(date): values[row] for row, date in enumerate(dates)}
    nothing = np.full(how.slots, np.nan)

    def of(wanted: Sequence[dt.date]) -> Floats:
        return np.array([found.get((date - EPOCH).days, nothing) for date in wanted]).reshape(len(wanted), how.slots)

    day, windows, weekdays = of([compared.holiday])[0], how.spread_windows, of(compared.weekdays)
    unlike: dict[Kind, float] = {
        "sunday": unlikeness(day, of(compared.sundays), windows),
        "weekday": unlikeness(day, weekdays, windows),
        "itself": float("nan"),
    }
    if compared.year_before:
        before = of([compared.year_before])[0]
        unlike["itself"] = unlikeness_to_itself(day, before, weekdays, of(compared.weekdays_before), windows)
    return unlike
