"""A copy of the repository, in which commands may write declarations."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from stack.instance import ROOT

ROOMS = ("contracts", "jobs", "schemas", "sources", "stack", "supervision")


class Ran(NamedTuple):
    code: int
    output: str
    errors: str


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    copy = tmp_path_factory.mktemp("repository")
    for room in ROOMS:
        shutil.copytree(ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / "samples").symlink_to(ROOT / "samples")
    return copy


@pytest.fixture
def sundial(repository, tmp_path) -> Callable[..., Ran]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SUNDIAL_")}
    environment |= {"SUNDIAL_HOME": str(tmp_path / "home"), "PYTHONPATH": str(repository)}
    command = [sys.executable, "-c", "from stack.commands.cli import app; app()"]

    def run(*words: str) -> Ran:
        done = subprocess.run([*command, *words], cwd=repository, env=environment, capture_output=True, text=True, input="")
        return Ran(done.returncode, done.stdout, done.stderr)

    return run
