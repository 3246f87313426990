"""A pytest plugin: a test that runs out of time spoils no later test.

pytest-timeout interrupts a test wherever it is, also while it waits for an answer of Spark's JVM. The next call would take that
answer for its own, and every later test of the worker would fail. So the connection is closed; py4j makes another one. Each
failure may be such a one: hypothesis takes the interruption for a failure of its example, plays that again, and reports what
comes of it.
"""

import sys
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Generator[None, object, object]:
    if call.excinfo and not call.excinfo.errisinstance(pytest.skip.Exception):
        close_connection()
    return (yield)


def close_connection() -> None:
    """This thread's connection to the JVM, if there is one."""
    pyspark = sys.modules.get("pyspark")
    gateway = pyspark and pyspark.SparkContext._gateway
    connection = gateway and gateway._gateway_client.get_thread_connection()
    if connection:
        connection.close()
