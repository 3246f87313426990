"""Every mistake in a capture as a sentence: what is wrong, where, and what to do about it."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contracts.time_formats import EXAMPLE, TimeFormat
from jobs.formats import capture_files
from jobs.formats.capture_files import Capture
from jobs.transforms import capture_cells as cells

EXAMPLES = 3
ISO = "ISO 8601 (2018-11-04 01:30:00, with or without offset)"
YEARS = f"{cells.FIRST_YEAR} to {cells.LAST_YEAR}"
# by cell: what its column must hold, and the option that maps another column to it
MAPPED = {
    "ServiceCell": ("names", "--service-column or --service"),
    "TimeCell": ("times", "--time-column"),
    "ValueCell": ("numbers", "--value-column"),
}
# by mistake of a row: the cell that shows it, what such rows have, and what to do about them
WRONG = {
    "BrokenRow": ("Broken", "more or fewer fields than the header, or no JSON object", "correct or delete those lines"),
    "NoService": ("ServiceCell", "no service name", "give each one, or all the same with --service"),
    "NoTime": ("TimeCell", "no time that can be read as {readable}", "correct or delete them{format}"),
    "NoUnit": ("TimeCell", "a number for a time", "say what it counts with --time-unit s, ms, us or ns{fitting}"),
    "Outside": ("TimeCell", f"a time outside of the years {YEARS}", "correct or delete them{better}"),
    "Skipped": (
        "TimeCell",
        "a time that never was, as daylight saving skipped it in {clock}",
        "delete them, or say with --timezone whose wall clock the times are of",
    ),
    "NoValue": ("ValueCell", "a value that is no {number} of 0 or more", "correct or delete them{decimals}"),
    "OtherDate": (
        "TimeCell",
        "another local date in {timezone} than that of their folder Date=...",
        "cut the folders by the dates of that zone, or name them otherwise: then the times alone count",
    ),
}


@dataclass
class CaptureOptions:
    """How a capture is to be read, as the command line says."""

    service: str | None  # one name for all rows
    column_names: dict[str, str]  # by cell
    timezone: str | None  # as it was given
    clock: str  # the zone whose wall clock shows times without an offset
    time_unit: str | None
    feed_timezone: str
    time_format: TimeFormat | None = None  # of times that are text
    value_scale: int | None = None  # what values are multiplied by, and rounded


def columns(found: Capture, options: CaptureOptions) -> tuple[dict[str, Column | None], list[str]]:
    """The column of each cell, None where the capture has none that will do; and what is wrong with columns and folders."""
    found_columns: dict[str, Column | None] = {"ServiceCell": F.lit(options.service) if (options.service or "").strip() else None}
    mistakes = []
    for cell, name in options.column_names.items():
        found_columns[cell], wrong = found.column(name, cells.READABLE[cell], *MAPPED[cell])
        mistakes += wrong
    column = options.column_names["TimeCell"]
    kind = found.columns.get(column)
    if options.timezone and (options.time_unit or isinstance(kind, cells.INSTANTS)):
        mistakes.append(f"--timezone: the times in column {column!r} are the same in every zone; leave it out")
    if options.time_unit and isinstance(kind, cells.TIMES):
        mistakes.append(f"--time-unit: column {column!r} holds {kind.simpleString()}, no numbers; leave it out")
        options.time_unit = None
    if options.time_format and options.time_unit:
        mistakes.append("--time-format and --time-unit exclude each other: times are text of that format, or numbers")
    if options.time_format and kind is not None and not isinstance(kind, T.StringType):
        mistakes.append(f"--time-format: column {column!r} holds {kind.simpleString()}, no text; leave it out")
        options.time_format = None
    if folders := found.undated_folders():
        mistakes.append(f"{len(folders)} folder(s) named for no date: {', '.join(folders[:EXAMPLES])}; name them Date=YYYY-MM-DD")
    return found_columns, mistakes


def counts(marked: DataFrame) -> Row:
    """All rows, and how many have each mistake, are Repeated, are a Gap, or have a time that fits each unit. One pass over the
    capture."""
    tests = {name: F.col(name) for name in (*cells.MISTAKES, "Repeated", "Gap")}
    tests |= {unit: cells.fits(unit) for unit in cells.UNITS}
    return marked.agg(F.count("*").alias("rows"), *(F.count_if(test).alias(name) for name, test in tests.items())).first()


def wrong_rows(marked: DataFrame, counts: Row, columns: dict[str, Column | None], options: CaptureOptions) -> list[str]:
    """A sentence for each kind of mistake that rows have, those in a cell that no column was found for apart."""
    if not counts.rows:
        return ["there is no row in it"]
    if counts.rows == counts.Gap and columns["ValueCell"] is not None:
        return [f"column {options.column_names['ValueCell']!r}: no row has a value; map another with --value-column"]
    unit = max(cells.UNITS, key=lambda each: counts[each])
    fitting = f"; --time-unit {unit} fits {counts[unit]:,} of them" if counts[unit] and unit != options.time_unit else ""
    written = f"{options.time_format.text} (--time-format)" if options.time_format else ISO
    words = {
        "readable": "a number" if options.time_unit else written,
        "fitting": fitting,
        "better": fitting if options.time_unit else "",
        "format": ""
        if options.time_unit or options.time_format
        else f", or say with --time-format how they are written: {EXAMPLE}",
        "number": "number" if options.value_scale else "whole number",
        "decimals": "" if options.value_scale else ", or multiply those with decimals and round them: --value-scale 1000",
        "clock": options.clock,
        "timezone": options.feed_timezone,
    }
    mistakes = []
    for name, (cell, what, remedy) in WRONG.items():
        if counts[name] and columns.get(cell, cell) is not None:
            where = f"column {options.column_names[cell]!r}: " if cell in options.column_names else ""
            have = f"{counts[name]:,} of {counts.rows:,} rows have {what.format(**words)}, e.g. {_examples(marked, name, cell)}"
            mistakes.append(f"{where}{have}; {remedy.format(**words)}")
    return mistakes


def contradictions(readings: DataFrame, counts: Row) -> list[str]:
    """A sentence if rows of the capture give one reading several values."""
    clocks = "; where the clocks were put back, an offset in the times tells the two hours apart" if counts.Repeated else ""
    return _unlike(readings, "Highest", "have several values", f"leave one row for each{clocks}")


def overridden(arrived: DataFrame, history: DataFrame) -> list[str]:
    """A sentence if an earlier capture gave readings other values: no offset says which of the two is the correction."""
    identity = ["Date", "ServiceName", "Timestamp"]
    earlier = history.where("KafkaOffset < 0").select(*identity, F.col("Value").alias("Earlier"))
    remedy = "correct them by the topic (sundial replay): what comes by it wins"
    return _unlike(arrived.join(earlier, identity), "Earlier", "had another value in an earlier capture", remedy)


def _unlike(readings: DataFrame, other: str, what: str, remedy: str) -> list[str]:
    """A sentence if readings have another Value than in that column: how many, and the first of them."""
    unlike = readings.where(F.col("Value") != F.col(other))
    count = unlike.count()
    if not count:
        return []
    at = F.date_format("Timestamp", "yyyy-MM-dd'T'HH:mm:ss'Z'")
    rows = unlike.orderBy("Timestamp", "ServiceName").select("ServiceName", at, "Value", other).limit(EXAMPLES).collect()
    examples = ", ".join(f"{service} at {time}: {value} and {another}" for service, time, value, another in rows)
    return [f"{count:,} readings {what}, e.g. {examples}; {remedy}"]


def _examples(marked: DataFrame, mistake: str, cell: str) -> str:
    """What the first rows with a mistake have in a cell, and in which file."""
    found: dict[str, list[str]] = {}
    for value, file in marked.where(mistake).select(F.col(cell).cast("string"), "File").limit(EXAMPLES).collect():
        found.setdefault(capture_files.shown(file), []).append("null" if value is None else repr(value[:80]))
    return ", ".join(f"{', '.join(values)} ({file})" for file, values in found.items())
