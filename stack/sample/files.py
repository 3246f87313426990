"""The first rows of a file, every cell as text: CSV, JSON lines or Parquet."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

from contracts.captures import SEPARATORS
from sources.columns import COUNT, text_times
from stack.errors import StackError
from stack.sample.cells import Place, csv_place, matching, opened

ROWS = 1_000_000
BYTES = 512 << 20  # of text; of a wide file the sample has fewer rows
KINDS = {".csv": "CSV", ".csv.gz": "CSV", ".jsonl": "JSON lines", ".jsonl.gz": "JSON lines", ".parquet": "Parquet"}


@dataclass(frozen=True)
class Sample:
    """columns: the cells of each named column as text, empty where there is nothing. whole: whether these are all rows of the
    file. separator: its word in SEPARATORS, of a CSV file."""

    path: Path
    kind: str
    separator: str
    columns: dict[str, pa.Array]
    whole: bool
    place: Place

    def kept(self, rows: np.ndarray) -> "Sample":
        """Only these rows, by a mark for each; a message names the same place for them as before."""
        if rows.all():
            return self
        numbers, mask = np.flatnonzero(rows), pa.array(rows)
        columns = {name: cells.filter(mask) for name, cells in self.columns.items()}
        return replace(self, columns=columns, place=lambda row: self.place(int(numbers[row])))

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))


def read_sample(path: Path) -> Sample:
    """The first ROWS rows. Raises StackError, naming the line, if there is no header, no row, or a line that can't be read."""
    kind = next((kind for suffix, kind in KINDS.items() if path.name.endswith(suffix)), None)
    if not kind or not path.is_file():
        what = "is no such file" if not path.is_file() else "is neither CSV, JSON lines nor Parquet by its name"
        raise StackError(f"{path} {what}", remedy=f"name a file that ends in {', '.join(KINDS)}")
    separator = _separator(path) if kind == "CSV" else "comma"
    place = csv_place(path, SEPARATORS[separator]) if kind == "CSV" else lambda row: f"{path}: row {row + 1}"
    batches = _csv(path, separator) if kind == "CSV" else _json_lines(path) if kind == "JSON lines" else _parquet(path)
    try:
        table, whole = _first(batches)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, pa.ArrowException) as error:
        raise StackError(f"{path}: can't be read as {kind}: {error}", remedy="give a sound file, its text in UTF-8") from error
    if not table.num_rows or not table.num_columns:
        raise StackError(f"{path}: no reading in it", remedy="give a file with readings, a CSV file with a header above them")
    columns = {name: table.column(name).combine_chunks().fill_null("") for name in table.column_names}
    return Sample(path, kind, separator, columns, whole, place)


def _first(batches: Iterator[pa.Table]) -> tuple[pa.Table, bool]:
    """(the first rows, whether they are all)."""
    found: list[pa.Table] = []
    for table in batches:
        left = ROWS - sum(each.num_rows for each in found)
        if found and (not left or sum(each.nbytes for each in found) > BYTES):
            return pa.concat_tables(found), False
        found.append(table.slice(0, left))
        if table.num_rows > left:
            return pa.concat_tables(found), False
    return (pa.concat_tables(found) if found else pa.table({})), True


def _separator(path: Path) -> str:
    """The one that cuts the header into most fields. Raises StackError if the first line is no header."""
    try:
        with opened(path) as file:
            start = list(islice(file, 1))
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise StackError(f"{path}: can't be read as CSV: {error}", remedy="give a sound file, its text in UTF-8") from error
    headers = {word: next(csv.reader(start, delimiter=character), []) for word, character in SEPARATORS.items()}
    found = max(headers, key=lambda word: len(headers[word]))
    names = headers[found]
    for name in names:
        if matching(pa.array([name]), COUNT)[0] or text_times(pa.array([name]))[1][0]:
            raise StackError(f"{path}:1: no header: {name!r} is a reading", remedy="put a line with the columns' names first")
    if twice := sorted({name for name in names if name and names.count(name) > 1}):
        raise StackError(f"{path}:1: several columns are called {twice[0]!r}", remedy="give each column a name of its own")
    return found


def _csv(path: Path, separator: str) -> Iterator[pa.Table]:
    broken: list[arrow_csv.InvalidRow] = []

    def note(row: arrow_csv.InvalidRow) -> str:
        broken.append(row)
        return "skip"

    with opened(path) as file:
        header = next(csv.reader(file, delimiter=SEPARATORS[separator]), [])
    named = [name for name in header if name]
    convert = arrow_csv.ConvertOptions(include_columns=named, column_types=dict.fromkeys(named, pa.string()))
    read = arrow_csv.ReadOptions(use_threads=False, block_size=4 << 20)
    parse = arrow_csv.ParseOptions(delimiter=SEPARATORS[separator], invalid_row_handler=note)
    with pa.input_stream(path, compression="detect") as stream:
        for batch in arrow_csv.open_csv(stream, read, parse, convert) if named else ():
            if broken:
                row = broken[0]
                raise StackError(
                    f"{path}:{row.number}: {row.actual_columns} fields, the header has {row.expected_columns}",
                    remedy="give each row as many fields as the header; quote a field that has the separator in it",
                )
            yield pa.Table.from_batches([batch])


def _json_lines(path: Path) -> Iterator[pa.Table]:
    with opened(path) as file:
        rows = []
        for number, line in enumerate(islice(file, ROWS + 1), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise StackError(f"{path}:{number}: is no JSON object", remedy="write one object with the fields' names a line")
            rows.append(row)
    names = dict.fromkeys(name for row in rows for name, cell in row.items() if not isinstance(cell, dict | list | bool))
    yield pa.table({name: pa.array([_text(row.get(name)) for row in rows], pa.string()) for name in names})


def _text(cell: object) -> str | None:
    return None if cell is None else cell if isinstance(cell, str) else json.dumps(cell)


def _parquet(path: Path) -> Iterator[pa.Table]:
    with parquet.ParquetFile(path) as file:
        flat = [field.name for field in file.schema_arrow if not pa.types.is_nested(field.type)]
        for batch in file.iter_batches(65_536, columns=flat):
            texts = {name: _as_text(batch.column(name)) for name in flat}
            yield pa.table(texts)


def _as_text(cells: pa.Array) -> pa.Array:
    """An instant in UTC, as Arrow writes offsets only so in every zone."""
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if pa.types.is_timestamp(cells.type):
        cells = cells.cast(pa.timestamp(cells.type.unit, "UTC" if cells.type.tz else None))
    if pa.types.is_binary(cells.type) or pa.types.is_fixed_size_binary(cells.type):
        return pa.nulls(len(cells), pa.string())
    return cells.cast(pa.string())
