"""The Delta tables of the lake: where they are, what their commits say of themselves, and how they are written.

Rows that are computed go through Spark. A table's log (versions, notes, files), and acts that only move what is there already
(promotion, rollback, upkeep), go through delta-rs: they need no Spark job.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from urllib.parse import unquote

import deltalake
import pyarrow as pa
import pyarrow.dataset as ds
from deltalake.exceptions import CommitFailedError, TableNotFoundError
from pyspark.sql import DataFrame, SparkSession

from contracts.baseline_log import MAINTAINED, BaselineLog, baseline_log
from contracts.feeds import Feed
from jobs.backends.settings import Platform
from jobs.errors import JobError

KEEP_DAYS = 90  # how long an older version of a table stays readable
# A table's commits are its memory: what was archived, promoted, by whom and why. They are kept, also when its rows are gone.
CONFIGURATION = {
    "delta.logRetentionDuration": "interval 3650 days",
    "delta.deletedFileRetentionDuration": f"interval {KEEP_DAYS} days",
}


@dataclass(frozen=True)
class Commit:
    """One commit of a table: its version, and the note (userMetadata, JSON) that Sundial wrote with it."""

    version: int
    note: dict


@dataclass(frozen=True)
class Table:
    """A Delta table of the lake, whether it exists yet or not. `partition`: the column that its files are partitioned by."""

    path: str
    partition: str | None = None

    def version(self) -> int:
        """The newest version; -1 while the table does not exist."""
        log = self.log()
        return -1 if log is None else log.version()

    def commits(self, limit: int | None = None) -> list[Commit]:
        """Commits, newest first; those of others (compaction, vacuum) have an empty note."""
        log = self.log()
        if log is None:
            return []
        return [Commit(entry["version"], json.loads(entry.get("userMetadata") or "{}")) for entry in log.history(limit)]

    def newest_commit_with(self, *fields: str) -> Commit | None:
        """The newest commit whose note has all these fields; None where no commit has."""
        return next((commit for commit in self.commits() if all(field in commit.note for field in fields)), None)

    def fingerprints(self, version: int | None = None) -> dict[str, str]:
        """By value of the partition column, a fingerprint of the files that hold its rows: it changes whenever they do."""
        log = self.log(version)
        files: dict[str, list[str]] = {}
        if log is not None:
            found = log.get_add_actions(flatten=True)
            values = found.column(f"partition.{self.partition}").to_pylist()
            for value, path in zip(values, found.column("path").to_pylist(), strict=True):
                files.setdefault(str(value), []).append(path)
        return {value: hashlib.sha256("\n".join(sorted(paths)).encode()).hexdigest()[:16] for value, paths in files.items()}

    def read(self, spark: SparkSession, version: int | None = None) -> DataFrame:
        """All rows as of a version, by default the newest."""
        reader = spark.read.format("delta")
        return (reader if version is None else reader.option("versionAsOf", version)).load(self.path)

    def files(self, version: int, values: Iterable) -> list[tuple[str, str]]:
        """Path or URI of each file of these partitions as of a version, with its value of the partition column as text."""
        wanted = {str(value) for value in values}
        found = self.log(version).get_add_actions(flatten=True)
        of_files = [str(value) for value in found.column(f"partition.{self.partition}").to_pylist()]
        paths = [f"{self.path}/{unquote(path)}" for path in found.column("path").to_pylist()]
        return [file for file in zip(paths, of_files, strict=True) if file[1] in wanted]

    def dataset(self, version: int) -> ds.Dataset:
        """All rows as of a version, for Arrow, without Spark."""
        return self.log(version).to_pyarrow_dataset()

    def add(self, rows: list[dict], note: dict) -> None:
        """A few rows added in one commit that carries the note, without Spark."""
        table = pa.Table.from_pylist(rows)
        deltalake.write_deltalake(self.path, table, mode="append", schema_mode="merge", commit_properties=noted(note))

    def append(self, rows: DataFrame, note: dict, **options: str) -> None:
        """Rows added to those that are there, in one commit that carries the note."""
        self._writer(rows, note).mode("append").options(**options).save(self.path)

    def replace(self, rows: DataFrame, values: Iterable, note: dict, **options: str) -> None:
        """The partitions of these values made to hold exactly these rows, in one commit that carries the note. A column that the
        table lacks is added to it."""
        writer = self._writer(rows, note).mode("overwrite").options(**options)
        if self.version() >= 0:
            writer = writer.option("replaceWhere", self._among(values)).option("mergeSchema", True)
        writer.save(self.path)

    def write(self, batches: Iterator[pa.RecordBatch], values: Iterable, note: dict, after: int) -> None:
        """As `replace`, the rows being Arrow batches, at least one, that pass through this process; without Spark.

        The partitions left alone, and so the note, mean what was seen at version `after` (-1: no table yet). Where another commit
        has come since then, nothing is written; raises JobError.
        """
        first = next(batches)
        reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
        with self.unless_overtaken(after):
            deltalake.write_deltalake(  # type: ignore[call-overload] # its overloads tell the modes apart by literals
                self.path if after < 0 else self.log(after),
                reader,
                mode="error" if after < 0 else "overwrite",
                predicate=None if after < 0 else self._among(values),
                schema_mode=None if after < 0 else "merge",
                partition_by=[self.partition],
                configuration=CONFIGURATION,
                commit_properties=noted(note, max_commit_retries=0),
            )

    def copy(self, source: "Table", version: int, values: Iterable, note: dict, after: int) -> None:
        """As `write`, the rows being those of another table of the same shape at that version."""
        wanted = ds.field(self.partition).isin(list(values))
        self.write(source.dataset(version).scanner(filter=wanted).to_batches(), values, note, after)

    def restore(self, version: int, note: dict) -> None:
        """The rows of an older version again, as a new commit that carries the note; no data is moved."""
        self.log().restore(version, commit_properties=noted(note))

    def commit_note(self, note: dict, after: int) -> None:
        """A commit that changes no row and carries the note; `after` as in `write`."""
        log = self.log(after)
        parts = log.metadata().partition_columns
        with self.unless_overtaken(after):
            properties = noted(note, max_commit_retries=0)
            log.create_write_transaction([], "append", log.schema(), parts, commit_properties=properties)

    def expire(self, before: dt.date, note: dict) -> int:
        """Dates before that one deleted, in one commit that carries the note; how many."""
        expired = [date for date in self.fingerprints() if date < before.isoformat()]
        if expired:
            self.log().delete(f"{self.partition} < '{before.isoformat()}'", commit_properties=noted(note))
        return len(expired)

    def compact(self, note: dict) -> int:
        """Small files put together, in one commit that carries the note; how many."""
        return self.log().optimize.compact(commit_properties=noted(note))["numFilesRemoved"]

    def vacuum(self, days: int, note: dict) -> int:
        """Files deleted that no version of the last so many days needs; how many."""
        found = self.log().vacuum(
            retention_hours=24 * days, dry_run=False, enforce_retention_duration=False, commit_properties=noted(note)
        )
        return len(found)

    def log(self, version: int | None = None) -> deltalake.DeltaTable | None:
        """The table as delta-rs sees it; None while it does not exist."""
        try:
            return deltalake.DeltaTable(self.path, version=version)
        except TableNotFoundError:
            return None

    @contextmanager
    def unless_overtaken(self, after: int) -> Iterator[None]:
        """Around a commit after that version; raises JobError if another commit has come since then."""
        overtaken = JobError(f"{self.path}: it has changed since it was read, so nothing was written; run this again")
        if self.version() != after:
            raise overtaken
        try:
            yield
        except CommitFailedError as error:
            raise overtaken from error

    def _writer(self, rows: DataFrame, note: dict):
        writer = rows.write.format("delta").options(**CONFIGURATION).option("userMetadata", json.dumps(note))
        return writer.partitionBy(self.partition) if self.partition else writer

    def _among(self, values: Iterable) -> str:
        """SQL that holds for the rows of these partitions."""
        literals = [f"DATE'{each.isoformat()}'" if isinstance(each, dt.date) else str(int(each)) for each in sorted(values)]
        return f"{self.partition} IN ({', '.join(literals)})" if literals else "false"


def history(platform: Platform, feed: Feed) -> Table:
    return Table(f"{platform.lake}/history/{feed.table}", "Date")


def candidate(platform: Platform, feed: Feed) -> Table:
    return Table(f"{platform.lake}/baseline_candidate/{feed.table}", "DayType")


def candidate_of(platform: Platform, feed: Feed, run_id: str) -> Commit:
    """The newest candidate that this run has built. Raises JobError where it has built none."""
    for commit in candidate(platform, feed).commits():
        if commit.note.get("run_id") == run_id:
            return commit
    raise JobError(f"baseline_candidate/{feed.table} holds none of run {run_id}; run jobs/build_baseline.py first")


def baseline(platform: Platform, feed: Feed) -> Table:
    return Table(f"{platform.lake}/baseline/{feed.table}", "DayType")


def log_of_baseline(platform: Platform, feed: Feed) -> BaselineLog:
    """Which version of the feed's baseline is in force, and what put it there."""
    table = baseline(platform, feed).log()
    return baseline_log(table.history() if table else ())


def detector(platform: Platform, feed: Feed) -> Table:
    """What the detector knew at the beginning of each local date: see `detector_states`."""
    return detector_of(platform, feed.table)


def detector_of(platform: Platform, feed: str) -> Table:
    """feed: as tables are named after it."""
    return Table(f"{platform.lake}/detector/{feed}", "Date")


def incidents(platform: Platform, feed: Feed) -> Table:
    """The events of the feed's incidents by local date: see `transforms.incident_rows`."""
    return Table(f"{platform.lake}/incidents/{feed.table}", "Date")


def events(platform: Platform, topic: str) -> Table:
    """The records of a topic that queries read, as their rows."""
    return Table(f"{platform.lake}/events/{topic}", "Date")


def gate_results(platform: Platform) -> Table:
    return Table(f"{platform.lake}/gate_results")


def dead_letter_replays(platform: Platform) -> Table:
    return Table(f"{platform.lake}/dead_letter_replays")


def upkeep_note(run_id: str) -> dict:
    """The note of a commit that changes no row."""
    return {"run_id": run_id, MAINTAINED: True}


def noted(note: dict, **how) -> deltalake.CommitProperties:
    """Of a commit that carries the note."""
    return deltalake.CommitProperties(custom_metadata={"userMetadata": json.dumps(note)}, **how)
