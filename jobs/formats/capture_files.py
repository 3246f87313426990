"""Captures: recorded readings in files, found and read as cells, just as they are written; nothing is checked here."""

import datetime as dt
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.errors import JobError

FORMATS = {".parquet": "Parquet", ".csv": "CSV", ".csv.gz": "CSV", ".jsonl": "JSON lines", ".jsonl.gz": "JSON lines"}
SUFFIX = re.compile(r"\.(?:parquet|(?:csv|jsonl)(?:\.gz)?)$")
BROKEN = "_broken"
FOLDER = "/Date="
Options = dict[str, bool | float | int | str | None]  # of Spark's readers
NAMED = 50  # columns or folders that a message names at most


@dataclass(frozen=True)
class Capture:
    """The files of one format at a path, as rows with the columns that they have."""

    files: list[str]  # as URIs
    format: str
    rows: DataFrame

    @property
    def columns(self) -> dict[str, T.DataType]:
        return {field.name: field.dataType for field in self.rows.schema if field.name != BROKEN}

    def cells(self, **cells: Column | None) -> DataFrame:
        """Cells as `transforms.capture_cells` wants them, and where each row stands; a cell that is None is null in every row."""
        nothing = F.lit(None).cast("string")
        return self.rows.select(
            *((nothing if column is None else column).alias(name) for name, column in cells.items()),
            F.input_file_name().alias("File"),
            self._folder().try_cast("date").alias("Folder"),
            F.input_file_block_start().alias("Block"),
            F.monotonically_increasing_id().alias("Line"),
            (self._broken() if BROKEN in self.rows.columns else nothing).alias("Broken"),
        )

    def column(self, name: str, kinds: tuple, holds: str, option: str) -> tuple[Column | None, list[str]]:
        """The column of exactly that name, if it is of one of these types; else None and what is wrong with it."""
        kind = self.columns.get(name)
        if kind is None:
            have = ", ".join(list(self.columns)[:NAMED]) or "none"
            return None, [f"column {name!r} is missing; map another with {option}; columns found: {have}"]
        if not isinstance(kind, kinds):
            return None, [f"column {name!r} holds {kind.simpleString()}, no {holds}; map another with {option}"]
        return _exactly(name), []

    def undated_folders(self) -> list[str]:
        """Folders named Date=… whose name is no date."""
        named = {file.rpartition(FOLDER)[2].split("/")[0] for file in self.files if FOLDER in file}
        return sorted(f"Date={unquote(name)}" for name in named if not _is_date(name))

    def _folder(self) -> Column:
        """What a row's folder is named for. Only asked where there are such folders, as it costs more than reading the row."""
        if not any(FOLDER in file for file in self.files):
            return F.lit(None)
        return F.substring(F.substring_index(F.input_file_name(), FOLDER, -1), 1, 10)

    def _broken(self) -> Column:
        """Spark refuses to read broken lines and no column beside them, so one is looked at for nothing."""
        other = _exactly(next(iter(self.columns)))
        return F.coalesce(F.col(BROKEN), F.nullif(other, other))


def shown(file: str) -> str:
    """A file's URI as a message names it: its folder and name."""
    return "/".join(unquote(file).split("/")[-2:])


def find(session: SparkSession, path: str, separator: str = ",") -> Capture:
    """The capture at a path, local or a URI: a file, or a folder with folders in it. Files of other kinds in it don't count.

    separator: what stands between the fields of a CSV.

    Raises JobError for a path that holds no capture, or one that can't be read as a whole.
    """
    escaped = re.sub(r"([\\*?\[\]{}])", r"\\\1", path)  # Spark takes these in a path for a pattern
    listed = _listed(session, escaped)
    if listed is None:
        raise JobError("no such file or folder")
    files = sorted(file for file in listed if SUFFIX.search(file))
    formats = {FORMATS[SUFFIX.search(file)[0]]: file for file in reversed(files)}
    if not files:
        others = f"there are {', '.join(shown(file) for file in sorted(listed)[:3])}" if listed else "it is empty"
        raise JobError(f"no file *.parquet, *.csv, *.csv.gz, *.jsonl or *.jsonl.gz in it: {others}")
    if len(formats) > 1:
        both = " and ".join(kind for kind in dict.fromkeys(FORMATS.values()) if kind in formats)
        raise JobError(f"both {both} in it, e.g. {' and '.join(map(shown, formats.values()))}; load one after the other")
    if "CSV" in formats:
        return Capture(files, "CSV", _csv(session, escaped, files, separator))
    if "JSON lines" in formats:
        return Capture(files, "JSON lines", _json_lines(session, escaped))
    is_folder = unquote(files[0]).split("/")[-1] != path.split("/")[-1]
    if is_folder and _listed(session, f"{escaped}/_delta_log"):
        raise JobError("a Delta table, of which some files may be outdated; export it to Parquet first")
    options: Options = {"recursiveFileLookup": True, "pathGlobFilter": "*.parquet", "mergeSchema": True}
    return Capture(files, "Parquet", session.read.options(**options).parquet(escaped))


@contextmanager
def errors_of_spark() -> Iterator[None]:
    """Errors of Spark, for files that it can't read, are raised as JobError."""
    try:
        yield
    except PySparkException as error:
        raise JobError(f"can't be read: {_one_line(str(error))}") from error
    except Py4JJavaError as error:
        causes, cause = {}, error.java_exception
        while cause is not None:
            causes[_one_line(cause.getMessage() or cause.toString())] = True
            cause = cause.getCause()
        raise JobError(f"can't be read: {'; '.join(causes)}") from error


def _listed(session: SparkSession, escaped: str) -> list[str] | None:
    """Every file at a path, however deep, as URIs; None where there is no such path."""
    try:
        return session.read.format("binaryFile").option("recursiveFileLookup", True).load(escaped).inputFiles()
    except PySparkException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return None


def _csv(session: SparkSession, escaped: str, files: list[str], separator: str) -> DataFrame:
    """CSV with a header, the same in all files; every column is text, and a line of too few or too many fields is BROKEN too."""
    options: Options = {
        "recursiveFileLookup": True,
        "pathGlobFilter": "*.{csv,csv.gz}",
        "header": True,
        "escape": '"',
        "sep": separator,
    }
    header = session.read.options(**options).csv(escaped).schema
    if not header:
        return session.createDataFrame([], T.StructType([]))
    # Only where no column is left out are the fields of a line counted and the headers of all files compared.
    options |= {"columnPruning": False, "columnNameOfCorruptRecord": BROKEN, "enforceSchema": len(files) == 1}
    return session.read.options(**options).schema(header.add(BROKEN, "string")).csv(escaped)


def _json_lines(session: SparkSession, escaped: str) -> DataFrame:
    """One object a line; every field is text as it is written, and a line that is no object is BROKEN."""
    options: Options = {"recursiveFileLookup": True, "pathGlobFilter": "*.{jsonl,jsonl.gz}", "primitivesAsString": True}
    options |= {"columnNameOfCorruptRecord": BROKEN}
    fields = session.read.options(**options).json(escaped).schema.fields
    header = T.StructType([field for field in fields if field.name != BROKEN])
    if not header:
        return session.createDataFrame([], T.StructType([]))
    return session.read.options(**options).schema(header.add(BROKEN, "string")).json(escaped)


def _exactly(name: str) -> Column:
    """The column of that name, whatever characters are in it."""
    return F.col(f"`{name.replace('`', '``')}`")


def _one_line(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())[:400]


def _is_date(text: str) -> bool:
    try:
        return bool(re.fullmatch(r"\d{4}-\d{2}-\d{2}", text)) and bool(dt.date.fromisoformat(text))
    except ValueError:
        return False
