"""The rows of several inputs whose topics are one source, decoded in one pass: each record is read once, whatever its topic."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from contracts.query_io import ROW_CAME, Input
from jobs.formats import query_records
from jobs.formats.wire import Writers

RECORD, BESIDE = "_record", "_beside"  # of several topics: a record, and what was made of it for other inputs


def decode(records: DataFrame, inputs: dict[str, Input], writers: dict[str, Writers]) -> DataFrame:
    """Kafka records with their column `topic` as rows: ROW_CAME, and for each input a column of its name. That is a struct as the
    Row of `query_records.decode`; it is null where the record is of another topic, or is no row."""
    rows = records.select(F.struct("topic", "key", "value", "partition", "offset", "timestamp").alias(RECORD))
    for alias, source in inputs.items():
        record = {name: F.col(RECORD)[name] for name in ("key", "value", "partition", "offset", "timestamp")}
        mine = F.col(RECORD)["topic"] == source.topic
        record |= {name: F.when(mine, record[name]) for name in ("key", "value")}
        taken = rows.select(*(column.alias(name) for name, column in record.items()), F.struct("*").alias(BESIDE))
        rows = query_records.decode(taken, source, writers, (BESIDE,)).select(f"{BESIDE}.*", F.col("Row").alias(alias))
    return rows.select(F.col(RECORD)["timestamp"].alias(ROW_CAME), *inputs)
