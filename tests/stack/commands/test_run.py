"""`sundial run` says at its end how to log in: the password itself on a terminal only."""

import os
import re
import subprocess
import sys

import pytest

from stack.instance import ROOT, Instance

ENDED = """
import sys
from stack import main_job
from stack.commands.cli import app
main_job.run = lambda *_: None
app(["--home", sys.argv[1], "run", "--port-base", "0"])
"""


@pytest.fixture
def instance(tmp_path):
    return Instance(tmp_path / "home").make(base=0)


def said(instance: Instance, output: int) -> None:
    """Runs the command, its main job left out, with its output to a file descriptor."""
    more = {"FORCE_COLOR": "1", "COLUMNS": "300"}  # as CI sets it, where a log is meant to be coloured
    command = [sys.executable, "-c", ENDED, str(instance.path)]
    subprocess.run(command, cwd=ROOT, env=os.environ | more, stdin=subprocess.DEVNULL, stdout=output, check=True)


def test_a_log_names_the_file_that_has_the_password(instance, tmp_path):
    log = tmp_path / "log"
    with log.open("wb") as file:
        said(instance, file.fileno())
    assert instance.secrets["password"] not in log.read_text()
    assert f"password in {instance.path}/secrets.json" in plain(log.read_text())


def test_a_terminal_shows_the_password(instance):
    reader, terminal = os.openpty()
    try:
        said(instance, terminal)
        shown = os.read(reader, 65_536).decode()
    finally:
        os.close(reader)
        os.close(terminal)
    assert f"user admin, password {instance.secrets['password']}" in plain(shown)


def plain(text: str) -> str:
    """Without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
