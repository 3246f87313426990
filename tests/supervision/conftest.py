"""Streams with a stand-in for Spark."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from supervision.files import StreamFolder
from tests.support.drivers import STREAM, kill_all


@pytest.fixture
def streams(tmp_path) -> Iterator[Path]:
    """A folder of run-state. No driver outlives the test."""
    root = tmp_path / "streams"
    root.mkdir()
    yield root
    kill_all(root)


@pytest.fixture
def folder(streams) -> StreamFolder:
    """The run-state of a stream that was never launched."""
    made = StreamFolder(streams / STREAM)
    made.make()
    return made
