"""Bootstrap: a capture of the past becomes the feed's history, in one commit; readings that came by the topic win over it.

The capture is checked as a whole before anything is written. Every mistake in it is reported at once, and then nothing is loaded.
"""

import zoneinfo
from argparse import Namespace

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from jobs import capture, history, lake, settings, spark
from jobs.capture import Capture
from jobs.settings import JobError, Platform
from jobs.transforms import capture as cells
from jobs.transforms.history import placed

EXAMPLES = 3
YEARS = f"{cells.FIRST_YEAR} to {cells.LAST_YEAR}"
# cell: what its column must hold, and the option that maps another column to it
MAPPED = {
    "ServiceCell": ("names", "--service-column or --service"),
    "TimeCell": ("times", "--time-column"),
    "ValueCell": ("numbers", "--value-column"),
}
# mistake of a row: the cell that shows it, what rows with it have, and what to do about them
WRONG = {
    "BrokenRow": ("Broken", "more or fewer fields than the header", "mend or delete those lines"),
    "NoService": ("ServiceCell", "no service name", "give each one, or all the same with --service"),
    "NoTime": ("TimeCell", "no time that can be read as {readable}", "mend or delete them"),
    "NoUnit": ("TimeCell", "a number for a time", "say what it counts with --time-unit s, ms, us or ns{fitting}"),
    "Outside": ("TimeCell", f"a time outside of the years {YEARS}", "mend or delete them{better}"),
    "Skipped": (
        "TimeCell",
        "a time that never was, as daylight saving skipped it in {clock}",
        "delete them, or say with --timezone whose wall clock the times are of",
    ),
    "NoValue": ("ValueCell", "a value that is no whole number of 0 or more", "mend or delete them"),
    "OtherDate": (
        "TimeCell",
        "another local date in {timezone} than that of their folder Date=...",
        "cut the folders by the dates of that zone, or name them otherwise: then the times alone count",
    ),
}


def main(platform: Platform) -> None:
    options = _options()
    feed, path = options.feed, options.path
    table = lake.history(platform, feed)
    session = spark.session(f"bootstrap {feed.name}", platform)
    mistakes = _wrong_options(options)
    try:
        with capture.reading():
            found = capture.find(session, path)
            print(f"reading {path}: {len(found.files):,} file(s), {found.format}", flush=True)
            columns, wrong = _columns(found, options)
            marked = cells.readings(found.cells(**columns), options.clock, options.time_unit, feed.timezone)
            counts = _counts(marked)
            mistakes += wrong + _wrong_rows(marked, counts, columns, options)
            readings = cells.distinct(_good(marked, counts)).cache()
            unrecorded = readings.withColumns({"KafkaPartition": F.lit(-1), "KafkaOffset": F.lit(-1)})
            arrived = placed(unrecorded, feed.timezone, feed.interval_seconds)
            mistakes += _contradictions(readings, counts) + _overridden(arrived, table)
            sums = F.count("*"), F.count_distinct("ServiceName"), F.min("Date"), F.max("Date")
            rows, services, first, last = arrived.agg(*sums).first()
    except JobError as error:
        mistakes.append(str(error))
    if mistakes:
        raise JobError("\n- ".join([f"{path}: nothing was loaded into history/{feed.table}, as", *mistakes]))
    repeats = f", {counts.rows - rows:,} of them repeats" if counts.rows > rows else ""
    print(f"{counts.rows:,} rows{repeats}, of {services:,} services, dates {first} to {last}", flush=True)
    history.merge(session, table, arrived, {"run_id": options.run_id, "bootstrap": path})
    readings.unpersist()
    print(f"history/{feed.table}: version {table.version()}", flush=True)


def _options() -> Namespace:
    """The command line; and `columns`, the name of each cell's column, and `clock`, the zone of times without an offset."""
    arguments = settings.parser(__doc__)
    add = arguments.add_argument
    add("--from", dest="path", metavar="PATH", required=True, help="file or folder of Parquet or CSV (or .csv.gz), local or URI")
    add("--service", metavar="NAME", help="one service name for all rows, instead of a column of names")
    add("--service-column", metavar="C", help="column of service names (default: the feed's key)")
    add("--time-column", metavar="C", help="column of times (default: the feed's time)")
    add("--value-column", metavar="C", help="column of values (default: the feed's value)")
    add("--timezone", metavar="ZONE", help="zone whose wall clock shows times without an offset (default: the feed's)")
    add("--time-unit", choices=list(cells.UNITS), help="what times count that are numbers, since 1970-01-01 UTC")
    settings.add_run_id(arguments)
    options = arguments.parse_args()
    feed = options.feed
    options.columns = {"ServiceCell": options.service_column or feed.key} if options.service is None else {}
    options.columns |= {"TimeCell": options.time_column or feed.time, "ValueCell": options.value_column or feed.value}
    options.clock = options.timezone if options.timezone in zoneinfo.available_timezones() else feed.timezone
    return options


def _wrong_options(options: Namespace) -> list[str]:
    mistakes = []
    if options.service is not None and options.service_column:
        mistakes.append("--service and --service-column exclude each other: one name for all rows, or a column of names")
    if options.service is not None and not options.service.strip():
        mistakes.append("--service is empty; give a name")
    if options.timezone and options.timezone != options.clock:
        mistakes.append(f"--timezone {options.timezone}: not in the IANA database of time zones; e.g. America/Chicago or UTC")
    return mistakes


def _columns(found: Capture, options: Namespace) -> tuple[dict[str, Column | None], list[str]]:
    """The column of each cell, None where the capture has none that will do; and what is wrong with columns and folders."""
    columns: dict[str, Column | None] = {"ServiceCell": F.lit(options.service) if (options.service or "").strip() else None}
    mistakes = []
    for cell, name in options.columns.items():
        columns[cell], wrong = found.column(name, cells.READABLE[cell], *MAPPED[cell])
        mistakes += wrong
    column = options.columns["TimeCell"]
    kind = found.columns.get(column)
    if options.timezone and (options.time_unit or isinstance(kind, cells.INSTANTS)):
        mistakes.append(f"--timezone: the times in column {column!r} are the same in every zone; leave it out")
    if options.time_unit and isinstance(kind, cells.TIMES):
        mistakes.append(f"--time-unit: column {column!r} holds {kind.simpleString()}, no numbers; leave it out")
        options.time_unit = None
    if folders := found.undated_folders():
        mistakes.append(f"{len(folders)} folder(s) named for no date: {', '.join(folders[:EXAMPLES])}; name them Date=YYYY-MM-DD")
    return columns, mistakes


def _counts(marked: DataFrame) -> Row:
    """All rows, and how many have each mistake, are Repeated, or have a time that fits each unit: one pass over the capture."""
    tests = {name: F.col(name) for name in (*cells.MISTAKES, "Repeated")} | {unit: cells.fits(unit) for unit in cells.UNITS}
    return marked.agg(F.count("*").alias("rows"), *(F.count_if(test).alias(name) for name, test in tests.items())).first()


def _wrong_rows(marked: DataFrame, counts: Row, columns: dict[str, Column | None], options: Namespace) -> list[str]:
    """A sentence for each kind of mistake that rows have, those in a cell that no column was found for apart."""
    if not counts.rows:
        return ["there is no row in it"]
    unit = max(cells.UNITS, key=lambda each: counts[each])
    fitting = f"; --time-unit {unit} fits {counts[unit]:,} of them" if counts[unit] and unit != options.time_unit else ""
    words = {
        "readable": "a number" if options.time_unit else "ISO 8601 (2018-11-04 01:30:00, with or without offset)",
        "fitting": fitting,
        "better": fitting if options.time_unit else "",
        "clock": options.clock,
        "timezone": options.feed.timezone,
    }
    mistakes = []
    for name, (cell, what, remedy) in WRONG.items():
        if counts[name] and columns.get(cell, cell) is not None:
            where = f"column {options.columns[cell]!r}: " if cell in options.columns else ""
            have = f"{counts[name]:,} of {counts.rows:,} rows have {what.format(**words)}, e.g. {_examples(marked, name, cell)}"
            mistakes.append(f"{where}{have}; {remedy.format(**words)}")
    return mistakes


def _examples(marked: DataFrame, mistake: str, cell: str) -> str:
    """What the first rows with a mistake have in a cell, and in which file."""
    found: dict[str, list[str]] = {}
    for value, file in marked.where(mistake).select(F.col(cell).cast("string"), "File").limit(EXAMPLES).collect():
        found.setdefault(capture.shown(file), []).append("null" if value is None else repr(value[:80]))
    return ", ".join(f"{', '.join(values)} ({file})" for file, values in found.items())


def _good(marked: DataFrame, counts: Row) -> DataFrame:
    good = marked.where("Good")
    repeated = cells.in_file_order(good.where("Repeated"))
    return good.where("NOT Repeated").unionByName(repeated) if counts.Repeated else good


def _contradictions(readings: DataFrame, counts: Row) -> list[str]:
    """A sentence if rows of the capture give one reading several values."""
    clocks = "; where the clocks were put back, an offset in the times tells the two hours apart" if counts.Repeated else ""
    return _unlike(readings, "Highest", "have several values", f"leave one row for each{clocks}")


def _overridden(arrived: DataFrame, table: lake.Table) -> list[str]:
    """A sentence if an earlier capture gave readings other values: no offset tells which of the two is the correction."""
    if table.version() < 0:
        return []
    reading = ["Date", "ServiceName", "Timestamp"]
    earlier = table.read(arrived.sparkSession).where("KafkaOffset < 0").select(*reading, F.col("Value").alias("Earlier"))
    remedy = "correct them by the topic (sundial replay): what comes by it wins"
    return _unlike(arrived.join(earlier, reading), "Earlier", "had another value in an earlier capture", remedy)


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


if __name__ == "__main__":
    settings.run(main)
