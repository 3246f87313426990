"""Spark's Python daemon, which forks a process for each task: here it imports what the jobs' tasks need, once for all of them."""

# ruff: noqa: E402, F401

import sys
from pathlib import Path

# Spark puts its own archives in front of the path, and each forked process would read their directories again, which takes a
# fifth of a second. pyspark and py4j are installed in this environment.
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
