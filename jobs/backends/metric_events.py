"""The archive of the metric events that a query of summaries reads: events/<topic>, one row for each record, by the event's date.

Events whose state a stream has dropped, and those that came too late for it, are all there, as they came: nothing is replaced.
Records that can't be read are not: the stream dead-letters them.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from contracts.queries import Query
from contracts.query_io import Input
from jobs.backends import continuity, kafka, offset_ledger, tables
from jobs.backends.registry import Registry
from jobs.backends.settings import Platform
from jobs.backends.topics import topic_now
from jobs.formats import query_records
from jobs.transforms.queries.metric_summaries import WINDOW

KEPT_FOR = 7  # days, of files that no version needs any more; older versions of the archive are not read


@dataclass(frozen=True)
class Events:
    """The archive of the events of a query."""

    platform: Platform
    query: Query
    alias: str = "metrics"

    @property
    def source(self) -> Input:
        return self.query.inputs[self.alias]

    @property
    def table(self) -> tables.Table:
        return tables.events(self.platform, self.source.topic)

    def archive(self, session: SparkSession, run_id: str) -> None:
        """Adds what came into the topic since the last time, in bounded steps that are commits, each once."""
        topic, table = topic_now(self.platform, self.source.topic), self.table
        remedy = continuity.remedy_of_application(self.query.application)
        todo = offset_ledger.steps(offset_ledger.pending(topic, offset_ledger.position(table), remedy))
        for step in todo:
            note, once = offset_ledger.commit_of(table, topic, step)
            table.append(self._read(session, step), {"run_id": run_id} | note, **once)
            print(f"events/{topic.name}: version {table.version()}, {offset_ledger.size(step):,} records archived", flush=True)
        if todo:
            note = tables.upkeep_note(run_id)
            table.compact(note)
            table.vacuum(KEPT_FOR, note)

    def of(self, session: SparkSession, wanted: DataFrame) -> DataFrame:
        """All archived events of these keys and windows (Key string, WindowStart timestamp), as the query reads its input."""
        events = self._of_windows(session, wanted).withColumn("Key", F.col("MetricKey"))
        return events.join(wanted, ["Key", "WindowStart"], "left_semi").drop("Key", "WindowStart", "KafkaPartition", "Date")

    def places(self, session: SparkSession, windows: DataFrame) -> DataFrame:
        """Every Key and WindowStart of these windows (WindowStart timestamp) of which an event is archived."""
        events = self._of_windows(session, windows).select(F.col("MetricKey").alias("Key"), "WindowStart").distinct()
        return events.join(windows, "WindowStart", "left_semi")

    def _of_windows(self, session: SparkSession, windows: DataFrame) -> DataFrame:
        """The events of the dates of these windows; a window is of one date."""
        dates = [row.Date for row in windows.select(F.to_date("WindowStart").alias("Date")).distinct().collect()]
        return self.table.read(session).where(F.col("Date").isin(dates)).withColumn("WindowStart", window("Timestamp"))

    def _read(self, session: SparkSession, step: dict[int, kafka.Range]) -> DataFrame:
        registry = Registry(self.platform)
        writers = {name: registry.writers(name, refused=None) for name in query_records.subjects(self.source)}
        decoded = query_records.decode(kafka.read_ranges(session, self.platform, self.source.topic, step), self.source, writers)
        good = decoded.where("Error IS NULL").select("Row.*", "KafkaPartition")
        return good.withColumn("Date", F.to_date("Timestamp"))


def window(column: str) -> Column:
    """Start of the window that an instant is in."""
    return F.timestamp_millis(F.floor(F.unix_millis(column) / WINDOW) * WINDOW)
