"""Airflow's home for the tests of one process, in place before Airflow is imported, which reads it once."""

import atexit
import os
import shutil
import tempfile
from functools import cache


@cache
def make() -> str:
    """The folder; it goes when the process ends."""
    home = tempfile.mkdtemp(prefix="sundial-airflow-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    os.environ.update(AIRFLOW__CORE__LOAD_EXAMPLES="False", AIRFLOW__CORE__UNIT_TEST_MODE="True")
    return home
