"""Spark's Python daemon, which forks a process for each task: here it imports what the jobs' tasks need, once for all of them."""

# ruff: noqa: F401

import numpy
import pandas
import pyarrow.pandas_compat
import pyarrow.parquet
import pyspark.worker
from pyspark import daemon

import jobs.transforms.profile

if __name__ == "__main__":
    daemon.manager()
