"""Captures made for tests: a few rows of CSV or Parquet."""

import datetime as dt
import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet


def table(folder: Path, *rows: str, name: str = "cars.csv", header: str = "ServiceName,Timestamp,Value") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join([header, *rows, ""]).encode()
    (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return folder / name


def arrow(file: Path, services: list, times: pa.Array, values: list) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table({"ServiceName": services, "Timestamp": times, "Value": values}), file)
    return file


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def instants(*texts: str) -> pa.Array:
    return pa.array([utc(text) for text in texts], pa.timestamp("us", tz="UTC"))
