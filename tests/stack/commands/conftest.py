"""A copy of the repository, in which commands may write declarations."""

import json
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
def environment(repository, tmp_path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SUNDIAL_")}
    return kept | {"SUNDIAL_HOME": str(tmp_path / "home"), "PYTHONPATH": str(repository)}


@pytest.fixture
def sundial(repository, environment) -> Callable[..., Ran]:
    command = [sys.executable, "-c", "from stack.commands.cli import app; app()"]

    def run(*words: str) -> Ran:
        done = subprocess.run([*command, *words], cwd=repository, env=environment, capture_output=True, text=True, input="")
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


IN_TURN = """
import json, sys
from typer.testing import CliRunner
from stack.commands.cli import app

for words in json.load(sys.stdin):
    ran = CliRunner().invoke(app, words)
    print(json.dumps([ran.exit_code, ran.stdout, ran.stderr]))
"""


@pytest.fixture
def sundial_in_turn(repository, environment) -> Callable[..., list[Ran]]:
    """What each call does, in one process: loading the commands takes two seconds."""

    def run(*calls: tuple[str, ...]) -> list[Ran]:
        command = [sys.executable, "-c", IN_TURN]
        done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, input=json.dumps(calls))
        assert (done.returncode, done.stderr) == (0, "")
        return [Ran(*json.loads(line)) for line in done.stdout.splitlines()]

    return run
