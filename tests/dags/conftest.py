"""Airflow without a database or network; streams with a stand-in for Spark."""

import os
import sys
from pathlib import Path

from tests.support import airflow_home

os.environ["AIRFLOW_HOME"] = airflow_home.make()  # before any import of Airflow

import pytest
from airflow.dag_processing.dagbag import DagBag

from supervision import machine
from tests.dags.triggerer import Triggerer, trigger
from tests.support.drivers import STAND_IN, kill_all
from tests.support.waiting import until


@pytest.fixture(scope="session")
def bag() -> DagBag:
    return DagBag(dag_folder=Path(__file__).resolve().parents[2] / "dags")


@pytest.fixture
def streams(tmp_path, monkeypatch) -> Path:
    """A folder of run-state, and a spark-submit on the PATH that starts the stand-in. Nothing outlives the test. Limits are
    those of a machine that is free, whatever else it does."""
    spark_submit = tmp_path / "bin" / "spark-submit"
    spark_submit.parent.mkdir()
    spark_submit.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
    spark_submit.chmod(0o755)
    root = tmp_path / "streams"
    root.mkdir()
    monkeypatch.setenv("PATH", f"{spark_submit.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SUNDIAL_STREAMS", str(root))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", '{"conn_type": "spark", "host": "local[3]"}')
    monkeypatch.setattr(machine, "slowness", lambda: 1.0)
    yield root
    kill_all(root)


@pytest.fixture
def running(streams):
    """A triggerer with a launched stream that gives heartbeats."""
    with Triggerer(trigger()) as triggerer:
        until("a heartbeat", triggerer.stream.heartbeat_mark)
        yield triggerer
