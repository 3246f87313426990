"""A query on rows that come step by step: live, and as one batch of all of them."""

import uuid
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from contracts.queries import Query
from contracts.query_io import Input
from jobs.backends.spark import with_state
from jobs.formats import query_records, wire
from tests.jobs.examples import read


class Live:
    """held: rows of the tables that streams are joined with; they are there from the beginning, and stay as they are."""

    def __init__(self, spark: SparkSession, folder: Path, query: Query, **held: list[dict]):
        self._spark, self._query, self._folder = with_state(spark.newSession()), query, folder / uuid.uuid4().hex
        self._spark.conf.set("spark.sql.shuffle.partitions", "1")
        self._held = {alias: self._frame(query.inputs[alias], held[alias]) for alias in query.looked_up}
        self._streams = {alias: each for alias, each in query.inputs.items() if alias not in self._held}
        self._offset = 0
        for alias in self._streams:
            (self._folder / alias).mkdir(parents=True)
        live = {alias: self._read(self._spark.readStream, alias) for alias in self._streams}
        sink = self._written(live).writeStream.format("memory").queryName("told").outputMode(query.mode)
        self._running = sink.option("checkpointLocation", str(self._folder / "checkpoint")).start()
        self._seen = 0

    def came(self, **inputs: list[dict]) -> list[tuple[str, str, dict | None]]:
        """What the query writes of further rows, as (topic, key, value)."""
        for alias, came in inputs.items():
            frame = self._frame(self._streams[alias], came, self._offset)
            frame.coalesce(1).write.mode("append").parquet(str(self._folder / alias))
            self._offset += len(came)
        self._running.processAllAvailable()
        written = self._spark.table("told").collect()
        new, self._seen = written[self._seen :], len(written)
        return self._values(new)

    def stop(self) -> list[dict]:
        """What each batch said of its first operator with state."""
        progress = [each.stateOperators[0] for each in self._running.recentProgress if each.stateOperators]
        self._running.stop()
        return [{"rows": each.numRowsTotal, "late": each.numRowsDroppedByWatermark} for each in progress]

    def batch(self) -> list[tuple[str, str, dict | None]]:
        """What the query makes of all rows that came, at once."""
        return self._values(self._written({alias: self._read(self._spark.read, alias) for alias in self._streams}).collect())

    def _written(self, streams: dict[str, DataFrame]) -> DataFrame:
        found = query_records.result(self._query, streams | self._held)
        return query_records.encode(found, self._query, {each.topic: 1 for each in self._query.outputs})

    def _values(self, written: list) -> list[tuple[str, str, dict | None]]:
        outputs = {each.topic: each.record for each in self._query.outputs}
        return [(row.topic, row.key.decode(), row.value and read(outputs[row.topic], bytes(row.value))) for row in written]

    def _read(self, reader, alias: str) -> DataFrame:
        source = self._streams[alias]
        found = reader.schema(self._columns(source)).parquet(str(self._folder / alias))
        return found.withWatermark("RowTime", source.lateness) if source.lateness else found

    def _columns(self, source: Input) -> StructType:
        fields = [StructField(each.name, each.dataType) for each in wire.row_type(self._spark, source.record)]
        key = wire.row_type(self._spark, source.key.record) if source.key.record else "string"
        columns = StructType(fields).add(source.key.column, key).add("RowTime", "timestamp").add("RowOffset", "long")
        return columns.add("RowDeleted", "boolean") if source.is_table else columns

    def _frame(self, source: Input, came: list[dict], offset: int = 0) -> DataFrame:
        """Rows in the order of their records; what they leave out is null."""
        columns = self._columns(source)
        numbered = [{"RowDeleted": False, "RowOffset": offset + number} | each for number, each in enumerate(came)]
        return self._spark.createDataFrame([[each.get(name) for name in columns.names] for each in numbered], columns)


def in_the_end(written: list[tuple[str, str, dict | None]], topic: str) -> dict[str, dict]:
    """What a reader that upserts has of a topic: the last value of each key, unless that deletes it."""
    last = {key: value for name, key, value in written if name == topic}
    return {key: value for key, value in last.items() if value is not None}
