"""Captures: recorded readings in CSV (plain or .gz) or Parquet (a file or a folder), read as a stream of readings.

Nothing is held whole: batches flow through, columns that aren't mapped are never decoded. A row that can't be read is noted
with its line and reason, and the others still count.
"""

import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet

from contracts.captures import SEPARATORS
from contracts.feeds import Feed
from contracts.time_formats import TimeFormat
from sources import columns as cells
from sources.readings import batch, kept, milliseconds
from sources.wall_clock import WallClock

BATCH_ROWS = 65_536
BLOCK_BYTES = 4 << 20
LISTED = 20


class CaptureError(ValueError):
    """The capture as a whole can't be read; the message says what is wrong with it and what to do."""


@dataclass(frozen=True)
class BadRow:
    file: str
    line: int  # of a CSV: its line, the header being line 1; of a Parquet file: its row, from 1
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass
class BadRows:
    """Counts every bad row and keeps the first few. gaps: rows without a value, which are no readings, and not bad."""

    count: int = 0
    gaps: int = 0
    listed: list[BadRow] = field(default_factory=list)

    def add(self, file: Path, line: int, reason: str) -> None:
        self.count += 1
        if len(self.listed) < LISTED:
            self.listed.append(BadRow(file.name, line, reason))


@dataclass(frozen=True)
class Survey:
    """What a capture holds, known after one pass over it."""

    rows: int
    first: int  # epoch milliseconds
    last: int
    bad: BadRows


@dataclass(frozen=True)
class Capture:
    """A capture and how its columns map to a feed's readings. By default they bear the feed's own names."""

    path: Path
    feed: Feed
    service_column: str | None = None
    service: str | None = None  # one service for all rows, instead of a column of names
    time_column: str | None = None
    value_column: str | None = None
    timezone: str | None = None  # of times without an offset; default: the feed's
    separator: str = "comma"  # of a CSV: one of SEPARATORS
    time_format: TimeFormat | None = None  # of times that are text and not ISO 8601
    value_scale: int | None = None  # what values are multiplied by, and rounded

    def __post_init__(self):
        if self.service and self.service_column:
            raise CaptureError("--service and --service-column exclude each other: a constant name or a column of names")
        if self.timezone and self.timezone not in zoneinfo.available_timezones():
            raise CaptureError(f"--timezone {self.timezone}: no such time zone in the IANA database, e.g. America/Chicago or UTC")
        if self.separator not in SEPARATORS:
            raise CaptureError(f"--separator {self.separator}: one of {', '.join(SEPARATORS)}")

    def columns(self) -> dict[str, tuple[str, str]]:
        """Mapped columns: part of a reading → (column, option that maps it)."""
        mapped = {
            "time": (self.time_column or self.feed.time, "--time-column"),
            "value": (self.value_column or self.feed.value, "--value-column"),
        }
        if not self.service:
            mapped["key"] = (self.service_column or self.feed.key, "--service-column or --service")
        return mapped

    def survey(self) -> Survey:
        """One pass over the capture: how many readings, from when to when, and every bad row."""
        bad, rows, first, last = BadRows(), 0, None, None
        for each in self.readings(bad):
            times = milliseconds(each)
            if len(times):
                rows += len(times)
                first = int(times.min()) if first is None else min(first, int(times.min()))
                last = int(times.max()) if last is None else max(last, int(times.max()))
        if first is None:
            detail = f"; its first row: {bad.listed[0]}" if bad.listed else ""
            if bad.listed and bad.listed[0].reason.startswith("time") and not self.time_format:
                detail += "; if it is a time, say how it is written with --time-format"
            raise CaptureError(f"{self.path}: no readable reading among {bad.count} rows{detail}")
        return Survey(rows, first, last, bad)

    def readings(self, bad: BadRows) -> Iterator[pa.RecordBatch]:
        """The readings in the capture's order; rows that can't be read go to `bad`."""
        clock = WallClock(self.timezone or self.feed.timezone, self.feed.interval_seconds)
        for file in self._files():
            try:
                for rows, lines in self._batches(file, bad):
                    yield self._readings(file, rows, lines, clock, bad)
            except (pa.ArrowInvalid, OSError) as error:
                raise CaptureError(f"{file}: {error}") from error

    def _batches(self, file: Path, bad: BadRows) -> Iterator[tuple[dict[str, pa.Array], np.ndarray]]:
        """(part → cells, line or number of each row) by batch."""
        if file.name.endswith((".csv", ".csv.gz")):
            return _csv_batches(file, self.columns(), SEPARATORS[self.separator], bad)
        return _parquet_batches(file, self.columns())

    def _files(self) -> list[Path]:
        if not self.path.exists():
            raise CaptureError(f"{self.path}: no such file or folder")
        if self.path.is_dir():
            if (self.path / "_delta_log").is_dir():
                raise CaptureError(f"{self.path}: a Delta table, of which some files may be outdated; export it to Parquet first")
            files = sorted(self.path.rglob("*.parquet"))
            if not files:
                raise CaptureError(f"{self.path}: no *.parquet file in this folder")
            return files
        if not self.path.name.endswith((".csv", ".csv.gz", ".parquet")):
            raise CaptureError(f"{self.path}: not a capture: .csv, .csv.gz, .parquet or a folder of .parquet files")
        return [self.path]

    def _readings(self, file: Path, rows: dict[str, pa.Array], lines: np.ndarray, clock, bad: BadRows) -> pa.RecordBatch:
        try:
            part = "key"
            services, unnamed = cells.names(rows["key"] if "key" in rows else pa.repeat(self.service, len(lines)))
            part = "value"
            values, valueless = cells.values(rows["value"], self.value_scale)
            gaps = cells.missing(rows["value"])
            part = "time"
            times, timeless = cells.times(rows["time"], clock, services, values, gaps, self.time_format)
        except TypeError as error:
            column, option = self.columns()[part]
            raise CaptureError(f"{file}: column {column!r} {error}; map another with {option}") from error
        mistakes = {row: why for row, why in valueless.items() if not gaps[row]} | timeless | unnamed
        gaps[list(mistakes)] = False
        bad.gaps += int(np.count_nonzero(gaps))
        for row in sorted(mistakes):
            bad.add(file, int(lines[row]), mistakes[row])
        good = ~gaps
        good[list(mistakes)] = False
        return kept(batch(services, times, values), good)


def _missing(file: Path, found: list[str], columns: dict[str, tuple[str, str]]) -> None:
    missing = [f"{column!r} (map another with {option})" for column, option in columns.values() if column not in found]
    if missing:
        raise CaptureError(f"{file}: no column {', no column '.join(missing)}; columns found: {', '.join(found)}")


def _csv_batches(file: Path, columns: dict[str, tuple[str, str]], separator: str, bad: BadRows):
    """(part → text cells, line of each row) by batch. A row with too few or too many fields goes to `bad`."""
    broken: list[int] = []

    def skip(row: csv.InvalidRow) -> str:
        broken.append(row.number)
        bad.add(file, row.number, f"{row.actual_columns} fields, the header has {row.expected_columns}")
        return "skip"

    with pa.input_stream(file, compression="detect") as stream:
        header = csv.open_csv(
            stream, parse_options=csv.ParseOptions(delimiter=separator, invalid_row_handler=lambda row: "skip")
        ).schema.names
    _missing(file, header, columns)
    wanted = list(dict.fromkeys(column for column, _ in columns.values()))
    with pa.input_stream(file, compression="detect") as stream:
        reader = csv.open_csv(
            stream,
            # one thread: only then are the numbers of broken rows known
            csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
            csv.ParseOptions(delimiter=separator, invalid_row_handler=skip, ignore_empty_lines=False),
            csv.ConvertOptions(include_columns=wanted, column_types=dict.fromkeys(wanted, pa.string())),
        )
        line = 2  # next line of the file; the header is line 1
        for rows in reader:
            lines, line = _lines(line, rows.num_rows, broken)
            yield {part: rows.column(column) for part, (column, _) in columns.items()}, lines


def _lines(line: int, rows: int, broken: list[int]) -> tuple[np.ndarray, int]:
    """Lines of the next `rows` sound rows from `line` on, past the broken ones, and the line that follows."""
    ahead = np.sort(np.array([each for each in broken if each >= line], np.int64))
    lines = np.arange(line, line + rows, dtype=np.int64)
    for each in ahead:
        lines[np.searchsorted(lines, each) :] += 1
    return lines, int(lines[-1]) + 1 if rows else line


def _parquet_batches(file: Path, columns: dict[str, tuple[str, str]]):
    """(part → cells, number of each row) by batch."""
    with parquet.ParquetFile(file) as source:
        _missing(file, source.schema_arrow.names, columns)
        row = 1
        for rows in source.iter_batches(BATCH_ROWS, columns=list(dict.fromkeys(column for column, _ in columns.values()))):
            yield {part: rows.column(column) for part, (column, _) in columns.items()}, np.arange(row, row + rows.num_rows)
            row += rows.num_rows
