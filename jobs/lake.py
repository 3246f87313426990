"""The Delta tables of the lake: where they are, what their commits say of themselves, and how they are written.

Rows go through Spark. A table's log (versions, commit notes) is read by delta-rs, which needs no Spark job for it.
"""

import datetime as dt
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import deltalake
from deltalake.exceptions import TableNotFoundError
from pyspark.sql import DataFrame, SparkSession

from contracts.feeds import Feed
from jobs.settings import Platform

_NOTE = "spark.databricks.delta.commitInfo.userMetadata"


@dataclass(frozen=True)
class Commit:
    """One commit of a table: its version, and the note (userMetadata, JSON) that Sundial wrote with it."""

    version: int
    note: dict


@dataclass(frozen=True)
class Table:
    """A Delta table of the lake, whether it exists yet or not."""

    path: str

    @property
    def sql(self) -> str:
        """The table's name in SQL."""
        return f"delta.`{self.path}`"

    def version(self) -> int:
        """The newest version; -1 while the table does not exist."""
        log = self._log()
        return -1 if log is None else log.version()

    def commits(self, limit: int | None = None) -> list[Commit]:
        """Commits, newest first; those of others (compaction, vacuum) have an empty note."""
        log = self._log()
        if log is None:
            return []
        return [Commit(entry["version"], json.loads(entry.get("userMetadata") or "{}")) for entry in log.history(limit)]

    def dates(self) -> set[dt.date]:
        """The dates that a table partitioned by Date holds rows of."""
        log = deltalake.DeltaTable(self.path)
        return {dt.date.fromisoformat(partition["Date"]) for partition in log.partitions()}

    def read(self, spark: SparkSession, version: int | None = None) -> DataFrame:
        reader = spark.read.format("delta")
        return (reader if version is None else reader.option("versionAsOf", version)).load(self.path)

    def overwrite(self, rows: DataFrame, note: dict) -> None:
        """All rows replaced in one commit that carries the note."""
        self._writer(rows, note).mode("overwrite").option("overwriteSchema", "true").save(self.path)

    def append(self, rows: DataFrame, note: dict, partition_by: str | None = None) -> None:
        """Rows added in one commit that carries the note."""
        writer = self._writer(rows, note).mode("append")
        (writer.partitionBy(partition_by) if partition_by else writer).save(self.path)

    @contextmanager
    def noting(self, spark: SparkSession, note: dict) -> Iterator[None]:
        """SQL statements inside commit with the note."""
        spark.conf.set(_NOTE, json.dumps(note))
        try:
            yield
        finally:
            spark.conf.unset(_NOTE)

    def _writer(self, rows: DataFrame, note: dict):
        return rows.write.format("delta").option("userMetadata", json.dumps(note))

    def _log(self) -> deltalake.DeltaTable | None:
        try:
            return deltalake.DeltaTable(self.path)
        except TableNotFoundError:
            return None


def history(platform: Platform, feed: Feed) -> Table:
    return Table(f"{platform.lake}/history/{feed.table}")


def candidate(platform: Platform, feed: Feed) -> Table:
    return Table(f"{platform.lake}/baseline_candidate/{feed.table}")


def baseline(platform: Platform, feed: Feed) -> Table:
    return Table(f"{platform.lake}/baseline/{feed.table}")


def gate_results(platform: Platform) -> Table:
    return Table(f"{platform.lake}/gate_results")
