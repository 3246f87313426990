"""Which column of a sample has the readings, and what they have to be multiplied by: readings are whole numbers of 0 or more."""

import numpy as np
import pyarrow as pa

from contracts.captures import AMOUNT, MISSING
from sources.columns import COUNT, amounts
from stack.errors import StackError
from stack.sample.cells import NUMBER, matching, refuse
from stack.sample.files import Sample
from stack.sample.time_column import TRIED, Ask, existing, one_of

NAMES = ("value", "count")
COMMA = r"^\s*[+-]?\d+,\d+\s*$"
READABLE = "readings are numbers of 0 or more: correct or delete the row, or name another column with --value-column"
FINE = 1000  # steps of the median reading, at least
MOST_DECIMALS = 6
BELOW = 1e12  # averages that the gate takes for plausible


def value_in(
    sample: Sample, named: str | None, scale: int | None, others: list[str | None], ask: Ask
) -> tuple[str, int | None, str, np.ndarray]:
    """(column, what its values are multiplied by, how it was found, which rows have a value: boolean). scale: null if the values
    tell it. others: columns that it is not. Raises StackError naming the first row whose value is no reading, or if no row has a
    value."""
    if named:
        column, why = existing(sample, named, "--value-column"), "--value-column"
    else:
        column, why = _column(sample, others, ask)
    cells = sample.columns[column]
    _refuse(sample, column, cells)
    missing = matching(cells, MISSING)
    if missing.all():
        raise StackError(f"{sample.path}: column {column!r} has no value", remedy="name another column with --value-column")
    if not scale and (matching(cells, AMOUNT) & ~matching(cells, COUNT)).any():
        scale = _scale(cells)
        why += "; it has decimals, --value-scale names another factor"
    gaps = f"; {np.count_nonzero(missing):,} rows have none" if missing.any() else ""
    return column, scale, why + gaps, ~missing


def _column(sample: Sample, others: list[str | None], ask: Ask) -> tuple[str, str]:
    tried = {name: cells.slice(0, TRIED) for name, cells in sample.columns.items() if name not in others}
    amounts = [name for name, cells in tried.items() if _all(cells, AMOUNT)]
    counts = [name for name in amounts if _all(tried[name], COUNT)]
    if not amounts:
        for name, cells in tried.items():
            if _all(cells, NUMBER) or _all(cells, COMMA):
                _refuse(sample, name, sample.columns[name])
        columns = ", ".join(sample.columns)
        raise StackError(f"{sample.path}: no column of numbers; there are {columns}", remedy="name it with --value-column")
    kind = "whole numbers" if amounts == counts else "numbers"
    if column := one_of(amounts, NAMES):
        return column, f"the only column of {kind}" if len(amounts) == 1 else f"its name, among columns of {kind}"
    if len(counts) == 1:
        return counts[0], "the only column of whole numbers"
    asked = "which column has the readings (for a column of each service, see docs/new-feed.md)"
    return ask("--value-column", asked, amounts), "as you say"


def _all(cells: pa.Array, pattern: str) -> bool:
    """Whether all that are not missing are so, and there is one."""
    missing, so = matching(cells, MISSING), matching(cells, pattern)
    return bool(so.any() and (missing | so).all())


def _refuse(sample: Sample, column: str, cells: pa.Array) -> None:
    amount, missing = matching(cells, AMOUNT), matching(cells, MISSING)
    refuse(sample.place, column, cells, matching(cells, COMMA), "has a decimal comma", READABLE)
    refuse(sample.place, column, cells, matching(cells, NUMBER) & ~amount, "is below 0", READABLE)
    refuse(sample.place, column, cells, ~(amount | missing), "is no number", READABLE)


def _scale(cells: pa.Array) -> int:
    """A power of ten: the smallest by which all cells are whole numbers. If they have more than MOST_DECIMALS, that by which half
    of them are at least FINE. No reading is BELOW or more by it."""
    numbers, _ = amounts(cells)
    powers = [10**power for power in range(1, MOST_DECIMALS + 1)]
    exact = [each for each in powers if np.allclose(numbers * each, np.rint(numbers * each), rtol=1e-15, atol=0)]
    fine = [each for each in powers if np.median(numbers[numbers > 0]) * each >= FINE]
    [scale, *_] = exact or fine or powers[-1:]
    while scale > 1 and numbers.max() * scale >= BELOW:
        scale //= 10
    return scale
