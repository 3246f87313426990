"""Spark's Python daemon, which forks a process for each task: here with what our tasks import, once instead of in each."""

import numpy  # noqa: F401
import pandas  # noqa: F401
import pyarrow.parquet  # noqa: F401
from pyspark import daemon

import jobs.transforms.profile  # noqa: F401

if __name__ == "__main__":
    daemon.manager()
