"""Bootstrap: a capture of the past becomes the feed's history, in one commit; readings that came by the topic win over it.

The capture is checked as a whole before anything is written. Every mistake in it is reported at once, and then nothing is loaded.
"""

import zoneinfo
from argparse import Namespace
from functools import partial

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from contracts import placed_by
from contracts.captures import HIGHEST_SCALE, SEPARATORS, UNITS
from contracts.time_formats import EXAMPLE, TimeFormat, TimeFormatError
from jobs.backends import history_table, settings, spark
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.formats import capture_files, capture_mistakes
from jobs.formats.capture_mistakes import CaptureOptions
from jobs.formats.iso_times import iso_text
from jobs.transforms import capture_cells
from jobs.transforms.history_rows import placed


def main(platform: Platform) -> None:
    options = _options()
    feed, path, capture_options = options.feed, options.path, options.capture
    table = history_table.opened(platform, feed)
    session = spark.session(f"bootstrap {feed.name}", platform)
    mistakes = _wrong_options(options)
    try:
        with capture_files.errors_of_spark():
            found = capture_files.find(session, path, SEPARATORS[options.separator])
            print(f"reading {path}: {len(found.files):,} file(s), {found.format}", flush=True)
            columns, wrong = capture_mistakes.columns(found, capture_options)
            written = capture_options.time_format
            marked = capture_cells.readings(
                found.cells(**columns),
                capture_options.clock,
                capture_options.time_unit,
                feed.timezone,
                written and partial(iso_text, form=written),
                capture_options.value_scale,
            )
            counts = capture_mistakes.counts(marked)
            mistakes += wrong + capture_mistakes.wrong_rows(marked, counts, columns, capture_options)
            readings = capture_cells.distinct(_good(marked, counts, feed.interval_seconds)).cache()
            nowhere = {"KafkaPartition": F.lit(-1), "KafkaOffset": F.lit(-1), "KafkaTimestamp": F.lit(None)}
            unrecorded = readings.withColumns(nowhere)
            arrived = placed(unrecorded, feed.timezone, feed.interval_seconds)
            mistakes += capture_mistakes.contradictions(readings, counts)
            if table.version() >= 0:
                mistakes += capture_mistakes.overridden(arrived, table.read(session))
            totals = F.count("*"), F.count_distinct("ServiceName"), F.min("Date"), F.max("Date")
            count, services, first, last = arrived.agg(*totals).first()
    except JobError as error:
        mistakes.append(str(error))
    if mistakes:
        raise JobError("\n- ".join([f"{path}: nothing was loaded into history/{feed.table}, as", *mistakes]))
    repeats = counts.rows - counts.Gap - count
    gaps = f", {counts.Gap:,} of them without a value" if counts.Gap else ""
    rows = f"{counts.rows:,} rows{gaps}{f', {repeats:,} of them repeats' if repeats else ''}"
    print(f"{rows}, of {services:,} services, dates {first} to {last}", flush=True)
    history_table.merge(session, table, arrived, {"run_id": options.run_id, "bootstrap": path} | placed_by.note_of(feed))
    readings.unpersist()
    print(f"history/{feed.table}: version {table.version()}", flush=True)


def _options() -> Namespace:
    """The command line, with `capture`: how the capture is to be read."""
    arguments = settings.parser(__doc__)
    add = arguments.add_argument
    add("--from", dest="path", metavar="PATH", required=True, help="file or folder of Parquet, CSV or JSON lines, local or URI")
    add("--service", metavar="NAME", help="one service name for all rows, instead of a column of names")
    add("--service-column", metavar="C", help="column of service names (default: the feed's key)")
    add("--time-column", metavar="C", help="column of times (default: the feed's time)")
    add("--value-column", metavar="C", help="column of values (default: the feed's value)")
    add("--value-scale", type=int, metavar="N", help="multiply values by N and round them: 1000 counts 2.5 s as 2500 ms")
    add("--timezone", metavar="ZONE", help="zone whose wall clock shows times without an offset (default: the feed's)")
    add("--time-unit", choices=UNITS, help="what times count that are numbers, since 1970-01-01 UTC")
    add("--time-format", metavar="FORMAT", help=f"how times are written that are not ISO 8601, e.g. {EXAMPLE.replace('%', '%%')}")
    add("--separator", choices=list(SEPARATORS), default="comma", help="what stands between the fields of a CSV (default: comma)")
    settings.add_run_id(arguments)
    options = arguments.parse_args()
    feed = options.feed
    columns = {"ServiceCell": options.service_column or feed.key} if options.service is None else {}
    columns |= {"TimeCell": options.time_column or feed.time, "ValueCell": options.value_column or feed.value}
    clock = options.timezone if options.timezone in zoneinfo.available_timezones() else feed.timezone
    options.capture = CaptureOptions(options.service, columns, options.timezone, clock, options.time_unit, feed.timezone)
    options.capture.value_scale = options.value_scale
    return options


def _wrong_options(options: Namespace) -> list[str]:
    mistakes = []
    if options.service is not None and options.service_column:
        mistakes.append("--service and --service-column exclude each other: one name for all rows, or a column of names")
    if options.service is not None and not options.service.strip():
        mistakes.append("--service is empty; give a name")
    if options.value_scale is not None and not 1 <= options.value_scale <= HIGHEST_SCALE:
        mistakes.append(f"--value-scale {options.value_scale}: a whole number from 1 to {HIGHEST_SCALE:,}")
        options.capture.value_scale = None
    if options.time_format:
        try:
            options.capture.time_format = TimeFormat.parsed(options.time_format)
        except TimeFormatError as error:
            mistakes.append(f"--time-format {options.time_format}: {error}; e.g. {EXAMPLE}")
    if options.timezone and options.timezone != options.capture.clock:
        mistakes.append(f"--timezone {options.timezone}: not in the IANA database of time zones; e.g. America/Chicago or UTC")
    return mistakes


def _good(marked: DataFrame, counts: Row, interval_seconds: int) -> DataFrame:
    good = marked.where("Good")
    repeated = capture_cells.in_file_order(good.where("Repeated"), interval_seconds)
    return good.where("NOT Repeated").unionByName(repeated) if counts.Repeated else good


if __name__ == "__main__":
    settings.run(main)
