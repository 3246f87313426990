"""Which column of a sample has the readings. They are whole numbers of 0 or more."""

import numpy as np
import pyarrow as pa

from contracts.captures import MISSING
from sources.columns import COUNT
from stack.errors import StackError
from stack.sample.cells import NUMBER, matching, refuse
from stack.sample.files import Sample
from stack.sample.time_column import TRIED, Ask, existing, one_of

NAMES = ("value", "count")
COMMA = r"^\s*[+-]?\d+,\d+\s*$"
WHOLE = "readings are whole numbers of 0 or more: count a smaller unit (ms for s), or name another column with --value-column"


def value_in(sample: Sample, named: str | None, others: list[str | None], ask: Ask) -> tuple[str, str, np.ndarray]:
    """(column, how it was found, which rows have a value: boolean). others: columns that it is not. Raises StackError naming the
    first row whose value is no reading, or if no row has a value."""
    if named:
        column, why = existing(sample, named, "--value-column"), "--value-column"
    else:
        column, why = _column(sample, others, ask)
    cells = sample.columns[column]
    _refuse(sample, column, cells)
    missing = matching(cells, MISSING)
    if missing.all():
        raise StackError(f"{sample.path}: column {column!r} has no value", remedy="name another column with --value-column")
    gaps = f"; {np.count_nonzero(missing):,} rows have none" if missing.any() else ""
    return column, why + gaps, ~missing


def _column(sample: Sample, others: list[str | None], ask: Ask) -> tuple[str, str]:
    tried = {name: cells.slice(0, TRIED) for name, cells in sample.columns.items() if name not in others}
    counts = [name for name, cells in tried.items() if _all(cells, COUNT)]
    if not counts:
        for name, cells in tried.items():
            if _all(cells, NUMBER) or _all(cells, COMMA):
                _refuse(sample, name, sample.columns[name])
        columns = ", ".join(sample.columns)
        raise StackError(f"{sample.path}: no column of whole numbers; there are {columns}", remedy="name it with --value-column")
    if not (column := one_of(counts, NAMES)):
        asked = "which column has the readings (for a column of each service, see docs/new-feed.md)"
        return ask("--value-column", asked, counts), "as you say"
    return column, "the only column of whole numbers" if len(counts) == 1 else "its name, among columns of whole numbers"


def _all(cells: pa.Array, pattern: str) -> bool:
    """Whether all that are not missing are so, and there is one."""
    missing, so = matching(cells, MISSING), matching(cells, pattern)
    return bool(so.any() and (missing | so).all())


def _refuse(sample: Sample, column: str, cells: pa.Array) -> None:
    count, number = matching(cells, COUNT), matching(cells, NUMBER)
    comma, missing = matching(cells, COMMA), matching(cells, MISSING)
    refuse(sample.place, column, cells, comma, "has a decimal comma", f"write a point instead; {WHOLE}")
    refuse(sample.place, column, cells, number & ~count, "is no whole number of 0 or more", WHOLE)
    refuse(
        sample.place,
        column,
        cells,
        ~(count | missing),
        "is no number",
        "correct or delete the row, or name another column with --value-column",
    )
