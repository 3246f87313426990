"""Days of history/<feed> as runs (see `transforms.baseline`), read by Spark's Python workers without the JVM."""

import datetime as dt
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileSystem
from pyspark.sql import DataFrame, SparkSession

from jobs.backends.tables import Table
from jobs.transforms import baseline

BATCH_ROWS = 1 << 20
COLUMNS = ["ServiceName", "Slot", "Value"]


def read(session: SparkSession, history: Table, version: int, dates: Iterable[dt.date]) -> DataFrame:
    """The rows of these dates as of a version of the table, as `baseline.RUNS`.

    Each file is read by the task that works on it, as Arrow columns with texts as dictionaries. No row passes through the JVM,
    which costs more than all the arithmetic that numpy does on it.
    """
    files = session.createDataFrame(history.files(version, dates), "Path string, Date string")

    # A nested function is sent to the workers as it is; for one of this module they would import all that the module does.
    def rows(files: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for path, date in ((row["Path"], row["Date"]) for batch in files for row in batch.to_pylist()):
            system, path = FileSystem.from_uri(path)
            with system.open_input_file(path) as source:
                file = pq.ParquetFile(source, read_dictionary=COLUMNS)
                value = pa.scalar(date).cast(pa.date32())
                for batch in file.iter_batches(BATCH_ROWS, columns=COLUMNS):
                    yield batch.append_column("Date", pa.repeat(value, batch.num_rows))

    return files.mapInArrow(lambda batches: baseline.to_runs(rows(batches)), baseline.RUNS)
