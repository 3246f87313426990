"""CSV files for the tests of this folder, and rows without a file."""

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa

from contracts.incidents import Incidents
from jobs.transforms.incident_walk import Settings
from stack.backtest.result import of_capture
from stack.backtest.rows import Rows

HALF_HOUR = 1800
MONDAY = dt.datetime(2014, 6, 2, tzinfo=dt.UTC)


def csv_file(path: Path, *lines: str) -> Path:
    path.write_text("".join(line + "\n" for line in lines))
    return path


def half_hours(days: int, seed: int = 1, level: float = 400.0) -> list[tuple[str, int]]:
    """(local time, count) of each half hour from a Monday on, with a daily wave."""
    rows = np.arange(48 * days)
    counts = np.random.default_rng(seed).poisson(level * (1.2 + np.sin(rows / 48 * 2 * np.pi)))
    return [((MONDAY + dt.timedelta(minutes=30 * row)).strftime("%Y-%m-%d %H:%M:%S"), int(counts[row])) for row in rows.tolist()]


def rows_of(
    minutes: list[float], values: list[float], services: list[int] | None = None, names: tuple[str, ...] = ("www",)
) -> Rows:
    """Rows at so many minutes after MONDAY, in UTC."""
    instants = np.array([round(MONDAY.timestamp() * 1000 + each * 60_000) for each in minutes], np.int64)
    text = pa.array([str(each) for each in values])
    of = np.array(services if services is not None else [0] * len(values), np.int64)
    return Rows(list(names), pa.array([str(each) for each in instants]), text, of, instants, instants, np.array(values, float))


def settings(holidays: str | None = None, **rule) -> Settings:
    """Of half hours."""
    return of_capture(HALF_HOUR, holidays, Incidents.model_validate(rule))
