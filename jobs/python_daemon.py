"""Spark's Python daemon, which forks a process for each task: here with what our tasks import, once instead of in each."""

# ruff: noqa: E402, F401

import sys
from pathlib import Path

# Spark puts its own archives in front of the path, and each forked process would read their directories anew, which is a fifth of
# a second's work. pyspark and py4j are installed beside us.
for entry in [entry for entry in sys.path if Path(entry).name.startswith(("pyspark", "py4j", "spark-core"))]:
    sys.path.remove(entry)
    sys.path_importer_cache.pop(entry, None)

import numpy
import pandas
import pyarrow.pandas_compat
import pyarrow.parquet
import pyspark.worker
from pyspark import daemon

import jobs.transforms.profile

if __name__ == "__main__":
    daemon.manager()
