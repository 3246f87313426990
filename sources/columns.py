"""Cells of a capture's columns to times, values and names: vectorised, each with the rows it couldn't read and why."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from contracts.captures import AMOUNT, MISSING
from contracts.time_formats import FIRST_SHORT_YEAR, MONTHS, TimeFormat
from sources.wall_clock import WallClock

Mistakes = dict[int, str]  # row of the batch: reason

CALENDAR = (
    r"^\s*(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])"
    r"(?:[T ](?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"\s*(?P<zone>Z|[+-](?:0\d|1[0-4]):?[0-5]\d)?)?\s*$"
)
EPOCH = r"^\s*\d{9,14}\s*$"
FIRST_EPOCH_MS = 100_000_000_000  # below: epoch seconds (until the year 5138); from here: epoch milliseconds (since 1973)
ISO = "ISO 8601 (1998-06-10 17:30:00, with or without offset) or an epoch number"
EXACT = 2**53  # whole numbers below are exact as doubles
COUNT = r"^\s*\+?\d{1,18}(?:\.0*)?\s*$"


def _reasons(rows: np.ndarray, cells: pa.Array, text: str) -> Mistakes:
    return {int(row): text.format(shown(cells[int(row)].as_py())) for row in np.flatnonzero(rows)}


def shown(cell) -> str:
    """A cell as a message quotes it."""
    return repr(cell) if len(repr(cell)) <= 60 else repr(cell)[:57] + "...'"


def _true(mask: pa.Array) -> np.ndarray:
    return pc.fill_null(mask, False).to_numpy(zero_copy_only=False)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def names(cells: pa.Array) -> tuple[pa.Array, Mistakes]:
    """Service names, as text without surrounding blanks; null and empty ones are mistakes."""
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    text = pc.fill_null(pc.utf8_trim_whitespace(cells.cast(pa.string())), "")
    return text, _reasons(_true(pc.equal(text, "")), cells, "no service name")


def values(cells: pa.Array, scale: int | None = None) -> tuple[np.ndarray, Mistakes]:
    """Counts as int64; missing, negative and fractional ones are mistakes. A whole number may be written 12.0.

    scale: what the cells are multiplied by. Then fractions are no mistakes: `scaled` rounds.
    """
    if scale:
        numbers, good = scaled(cells, scale)
        return numbers, _reasons(~good, cells, "value {} is not a number of 0 or more")
    if _is_text(cells.type):
        good = _true(pc.match_substring_regex(cells, COUNT))
        digits = pc.replace_substring_regex(pc.utf8_trim_whitespace(cells), r"^\+|\.0*$", "")
        numbers = pc.if_else(pa.array(good), digits, "0").cast(pa.int64()).to_numpy()
    elif pa.types.is_integer(cells.type):
        signed = cells.cast(pa.int64(), safe=False)  # an unsigned number too large becomes negative
        good = _true(pc.greater_equal(signed, 0))
        numbers = pc.fill_null(signed, 0).to_numpy() * good
    elif pa.types.is_floating(cells.type):
        floats = pc.fill_null(cells, -1.0).to_numpy(zero_copy_only=False)
        good = (floats >= 0) & (floats < EXACT) & (np.floor(floats) == floats)
        numbers = np.where(good, floats, 0).astype(np.int64)
    else:
        raise TypeError(f"holds {cells.type}, not numbers")
    return numbers, _reasons(~good, cells, "value {} is not a whole number of 0 or more")


def scaled(cells: pa.Array, scale: int) -> tuple[np.ndarray, np.ndarray]:
    """(int64, boolean: it is one): each number of 0 or more times `scale`, as doubles have it, to the nearest whole number, and
    half way between two to the even one (IEEE 754). `capture_cells` computes the same in Spark."""
    numbers, good = amounts(cells)
    whole = np.rint(numbers * scale)
    good &= whole < EXACT
    return np.where(good, whole, 0).astype(np.int64), good


def amounts(cells: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """(float64, boolean: it is one): the numbers of 0 or more; 0 where there is none. Raises TypeError for no numbers."""
    if _is_text(cells.type):
        good = _true(pc.match_substring_regex(cells, AMOUNT))
        text = pc.replace_substring_regex(pc.utf8_trim_whitespace(cells), r"^\+", "")
        numbers = pc.if_else(pa.array(good), text, "0").cast(pa.float64()).to_numpy()
    elif pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type):
        numbers = pc.fill_null(cells.cast(pa.float64(), safe=False), -1.0).to_numpy(zero_copy_only=False)
        good = numbers >= 0
    else:
        raise TypeError(f"holds {cells.type}, not numbers")
    return np.where(good, numbers, 0), good


def missing(cells: pa.Array) -> np.ndarray:
    """Which rows have no value: null, NaN, or a text that says so. A gap, no mistake."""
    if _is_text(cells.type):
        return pc.fill_null(pc.match_substring_regex(cells, MISSING), True).to_numpy(zero_copy_only=False)
    return cells.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)


def times(
    cells: pa.Array, clock: WallClock, services: pa.Array, values: np.ndarray, gaps: np.ndarray, form: TimeFormat | None = None
) -> tuple[np.ndarray, Mistakes]:
    """Epoch milliseconds. Times without an offset are read on the wall clock; those in the skipped hour are mistakes.

    gaps: which rows have no value; a time in the skipped hour is none there. form: how text is written that is not ISO 8601.
    """
    readable = f"of the format {form.text}" if form else ISO
    if form and not _is_text(cells.type):
        raise TypeError(f"holds {cells.type}, no text, so it has no --time-format")
    if pa.types.is_timestamp(cells.type):
        good = _true(cells.is_valid())
        stamps = pc.fill_null(cells.cast(pa.timestamp("ms", tz=cells.type.tz), safe=False).cast(pa.int64()), 0).to_numpy()
        naive = good & (cells.type.tz is None)
    elif pa.types.is_integer(cells.type):
        good, naive = _true(pc.greater(cells, 0)), np.zeros(len(cells), bool)
        stamps = _epoch_ms(np.where(good, pc.fill_null(cells, 0).to_numpy(zero_copy_only=False), 0).astype(np.int64))
    elif _is_text(cells.type):
        stamps, good, naive = text_times(iso_text(cells, form) if form else cells)
    else:
        raise TypeError(f"holds {cells.type}, not times")
    mistakes = _reasons(~good, cells, "time {} is not " + readable.replace("{", "{{").replace("}", "}}"))
    if naive.any():
        instants, skipped = clock.instants(stamps[naive], services.filter(pa.array(naive)), values[naive])
        stamps = stamps.copy()
        stamps[naive] = instants
        rows = np.zeros(len(cells), bool)
        rows[naive] = skipped & ~gaps[naive]
        mistakes |= _reasons(rows, cells, "time {} never was: daylight saving skipped it in " + clock.zone)
    return stamps, mistakes


def _epoch_ms(numbers: np.ndarray) -> np.ndarray:
    return np.where(numbers < FIRST_EPOCH_MS, numbers * 1000, numbers)


def text_times(cells: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(milliseconds, readable, without offset) of text: wall-clock milliseconds where without offset, else epoch milliseconds."""
    parts = pc.extract_regex(cells, CALENDAR)

    def number(part: str) -> np.ndarray:
        digits = pc.fill_null(pc.struct_field(parts, part), "")
        return pc.if_else(pc.equal(digits, ""), "0", digits).cast(pa.int64()).to_numpy()

    is_calendar = _true(parts.is_valid())
    month = ((number("year") - 1970) * 12 + number("month") - 1).astype("datetime64[M]")
    day = month.astype("datetime64[D]") + (number("day") - 1)
    is_calendar &= day.astype("datetime64[M]") == month  # no 30 February
    seconds = day.astype(np.int64) * 86_400 + number("hour") * 3600 + number("minute") * 60 + number("second")
    fraction = pc.utf8_slice_codeunits(pc.utf8_rpad(pc.fill_null(pc.struct_field(parts, "fraction"), ""), 3, "0"), 0, 3)
    stamps = seconds * 1000 + fraction.cast(pa.int64()).to_numpy()

    zone = pc.fill_null(pc.struct_field(parts, "zone"), "")
    naive = is_calendar & _true(pc.equal(zone, ""))
    if not naive.all():
        stamps = stamps - _offset_minutes(zone) * 60_000
    is_epoch = ~is_calendar & _true(pc.match_substring_regex(cells, EPOCH))
    if is_epoch.any():
        digits = pc.if_else(pa.array(is_epoch), pc.utf8_trim_whitespace(cells), "0").cast(pa.int64()).to_numpy()
        stamps = np.where(is_epoch, _epoch_ms(digits), stamps)
    return stamps, is_calendar | is_epoch, naive


def iso_text(cells: pa.Array, form: TimeFormat) -> pa.Array:
    """Text of that format as ISO 8601; null, or no time either, where it is of another."""
    found = pc.extract_regex(cells, form.pattern("(?P<{}>"))
    parts = {directive: pc.struct_field(found, directive[1]) for directive in form.directives}

    def number(directive: str) -> pa.Array:
        return parts[directive].cast(pa.int32())

    def padded(numbers: pa.Array) -> pa.Array:
        return pc.utf8_lpad(numbers.cast(pa.string()), 2, "0")

    if "%y" in parts:
        short = number("%y")
        year = pc.add(short, pc.if_else(pc.less(short, FIRST_SHORT_YEAR), 2000, 1900)).cast(pa.string())
    else:
        year = parts["%Y"]
    named = "%b" in parts
    month = pc.add(pc.index_in(pc.utf8_lower(parts["%b"]), pa.array(MONTHS)), 1) if named else number("%m")
    text = pc.binary_join_element_wise(year, padded(month), padded(number("%d")), "-")
    if "%M" not in parts:
        return text
    if "%p" in parts:
        twelve, after_noon = number("%I"), pc.equal(pc.utf8_lower(parts["%p"]), "pm")
        shown = pc.add(pc.if_else(pc.equal(twelve, 12), 0, twelve), pc.if_else(after_noon, 12, 0))
        hour = pc.if_else(pc.and_(pc.greater(twelve, 0), pc.less_equal(twelve, 12)), shown, 99)
    else:
        hour = number("%H")
    clock = pc.binary_join_element_wise(padded(hour), parts["%M"], parts.get("%S", "00"), ":")
    fraction = [".", parts["%f"]] if "%f" in parts else []
    zone = [parts["%z"]] if "%z" in parts else []
    return pc.binary_join_element_wise(text, "T", clock, *fraction, *zone, "")


def _offset_minutes(zone: pa.Array) -> np.ndarray:
    """Minutes east of UTC of 'Z', '', '+0530', '-05:00'."""
    digits = pc.replace_substring(zone, ":", "")
    digits = pc.if_else(pc.less_equal(pc.utf8_length(digits), 1), "+0000", digits)
    hours = pc.utf8_slice_codeunits(digits, 1, 3).cast(pa.int64()).to_numpy()
    minutes = hours * 60 + pc.utf8_slice_codeunits(digits, 3, 5).cast(pa.int64()).to_numpy()
    return np.where(_true(pc.starts_with(digits, "-")), -minutes, minutes)
