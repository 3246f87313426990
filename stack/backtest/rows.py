"""The rows of a CSV file as a backtest needs them: services, times, local clock, values. Nothing is left out or mended."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from contracts.captures import MISSING
from contracts.time_formats import EXAMPLE, TimeFormat
from sources.columns import iso_text, text_times
from sources.wall_clock import WallClock, to_wall
from stack.errors import StackError
from stack.sample.cells import NUMBER, csv_place, matching, opened, refuse, refuse_skipped, true
from stack.sample.time_column import form_of

EPOCH_WITH_FRACTION = r"^\s*(\d{9,14})\.\d+\s*$"


@dataclass(frozen=True)
class Rows:
    """A capture, one entry for each of its rows, in the file's order.

    timestamps, given: the cells as text. services: int64, which of `names`. instants: epoch milliseconds, int64.
    wall: milliseconds that the local clock shows, counted as if it were UTC, int64. values: float64, NaN where there is none.
    """

    names: list[str]
    timestamps: pa.Array
    given: pa.Array
    services: np.ndarray
    instants: np.ndarray
    wall: np.ndarray
    values: np.ndarray


def read_rows(
    path: Path,
    timestamp: str,
    value: str,
    service: str | None,
    zone: str,
    form: TimeFormat | None = None,
    interval_seconds: int | None = None,
) -> Rows:
    """The rows of a CSV file, plain or .gz, by the names of its columns. Times without an offset are local times of the zone.
    form: of times that are neither ISO 8601 nor epoch seconds; a common one need not be named. interval_seconds: of the readings.

    Raises StackError if the file or a cell can't be read; it names file, line and column.
    """
    table = _table(path, list(dict.fromkeys([timestamp, value, *([service] if service else [])])))
    stamps, given = (table.column(name).combine_chunks() for name in (timestamp, value))
    if service:
        names = _names(path, service, table)
    else:
        names = pa.array([path.name.split(".")[0]]).take(pa.array(np.zeros(len(stamps), np.int64)))
    coded = names.dictionary_encode()
    values = _values(path, value, given)

    def ask(option: str, what: str, choices: list[str]) -> str:
        raise StackError(f"{path}: column {timestamp}: not clear {what}", remedy=f"{option} '{choices[0]}', or '{choices[1]}'")

    form = form or form_of(stamps, ask)
    instants, wall = _times(path, timestamp, stamps, names, WallClock(zone, interval_seconds), values, form)
    return Rows(coded.dictionary.to_pylist(), stamps, given, coded.indices.to_numpy().astype(np.int64), instants, wall, values)


def read_times(path: Path, service: str, columns: tuple[str, ...], zone: str) -> tuple[list[str], tuple[np.ndarray, ...]]:
    """(services, epoch milliseconds of each of the columns) of a CSV file; raises StackError as `read_rows`."""
    table = _table(path, [service, *columns])
    names = _names(path, service, table)
    none = np.zeros(table.num_rows)
    times = (_times(path, name, table.column(name).combine_chunks(), names, WallClock(zone), none)[0] for name in columns)
    return names.to_pylist(), tuple(times)


def _names(path: Path, column: str, table: pa.Table) -> pa.Array:
    names = pc.utf8_trim_whitespace(table.column(column).combine_chunks())
    refuse(csv_place(path), column, names, true(pc.equal(names, "")), "is no service's name", "name a service in each row")
    return names


def _table(path: Path, wanted: list[str]) -> pa.Table:
    """The wanted columns as text."""
    broken: list[arrow_csv.InvalidRow] = []

    def note(row: arrow_csv.InvalidRow) -> str:
        if row.text.strip():
            broken.append(row)
        return "skip"

    try:
        with opened(path) as file:
            header = next(csv.reader(file), [])
        if missing := [name for name in wanted if name not in header]:
            raise StackError(
                f"{path}:1: no column {', '.join(map(repr, missing))}",
                remedy=f"name columns of this file with --timestamp, --value and --service; it has {', '.join(header) or 'none'}",
            )
        convert = arrow_csv.ConvertOptions(include_columns=wanted, column_types=dict.fromkeys(wanted, pa.string()))
        read, parse = arrow_csv.ReadOptions(use_threads=False), arrow_csv.ParseOptions(invalid_row_handler=note)
        with pa.input_stream(path, compression="detect") as stream:
            table = arrow_csv.read_csv(stream, read, parse, convert)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, pa.ArrowInvalid) as error:
        raise StackError(f"{path}: {error}", remedy="give a CSV file with a header, plain or .gz, in UTF-8") from error
    if broken:
        row = broken[0]
        raise StackError(
            f"{path}:{row.number}: {row.actual_columns} fields, the header has {row.expected_columns}",
            remedy="give each row as many fields as the header; quote a field that has a comma",
        )
    if not table.num_rows:
        raise StackError(f"{path}: no row below the header", remedy="give a file with readings")
    return table


def _times(
    path: Path,
    column: str,
    cells: pa.Array,
    names: pa.Array,
    clock: WallClock,
    values: np.ndarray,
    form: TimeFormat | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(instants, wall). A local time counts as the clock that it was written by shows it, also in an hour that daylight saving
    repeats: only the order of the two passes comes from the order in the file. In an hour that it skips, only rows without a
    value may be."""
    iso = iso_text(cells, form) if form else pc.replace_substring_regex(cells, EPOCH_WITH_FRACTION, r"\1")
    stamps, readable, local = text_times(iso)
    what = f"is not a time of the format {form.text}" if form else "is not a time"
    remedy = (
        "write epoch seconds, ISO 8601 with an offset, or local time such as 2014-07-01 00:30:00; "
        f"or say how the times are written: --time-format '{EXAMPLE}'"
    )
    refuse(csv_place(path), column, cells, ~readable, what, remedy)
    instants = stamps.copy()
    if local.any():
        skipped = np.zeros(len(stamps), bool)
        instants[local], skipped[local] = clock.instants(stamps[local], names.filter(pa.array(local)), values[local])
        refuse_skipped(csv_place(path), column, cells, skipped & ~np.isnan(values), clock.zone)
    return instants, np.where(local, stamps, to_wall(instants, clock.zone))


def _values(path: Path, column: str, cells: pa.Array) -> np.ndarray:
    missing, numbers = matching(cells, MISSING), matching(cells, NUMBER)
    refuse(
        csv_place(path),
        column,
        cells,
        ~(missing | numbers),
        "is not a number",
        "write a number, or leave it empty if there is no reading",
    )
    text = pc.if_else(pa.array(numbers), pc.replace_substring_regex(pc.utf8_trim_whitespace(cells), r"^\+", ""), None)
    return text.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
