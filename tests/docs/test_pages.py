"""The pages in docs/ show what one types and what one sees; here it is typed, and seen.

Of a page with a block of ```console all is typed, into one shell: blocks of ```bash whole, and in ```console each line that
begins with `$ `, with the lines after it that begin with `> `. What follows up to the next is what comes out, where `...` stands
for anything, as in Python's doctests. The shell finds a stack that runs. What is typed exits with 0: a page that shows a command
fail says so, by `; echo "exit code $?"` after it.
"""

import doctest
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from stack.instance import ROOT, Instance
from stack.parts import lifecycle, process
from tests.support.tiers import PAGE

PAGES = sorted(page for page in (ROOT / "docs").glob("*.md") if "```console" in page.read_text())
MARK = "<<<typed>>>"
FULL = [pytest.mark.full]
EXACT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass
class Typed:
    line: int
    command: str
    shown: str | None  # None: the page does not say


def typed(page: Path) -> Iterator[Typed]:
    found, block = None, None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            block = line[3:] if block is None else None
            if block == "bash":
                found = Typed(number + 1, "", None)
                yield found
            continue
        if block == "bash":
            found.command += line + "\n"
        elif block == "console" and line.startswith("$ "):
            found = Typed(number, line[2:], "")
            yield found
        elif block == "console" and (line + " ").startswith("> "):
            found.command += "\n" + line[2:]
        elif block == "console":
            found.shown += line + "\n"


class Shell:
    """One bash, so that variables stay; its commands' errors come out with their output."""

    def __init__(self, instance: Path, folder: Path):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        own = {"PATH": path, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder), "COLUMNS": "300", "SUNDIAL_HOME": str(instance)}
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SUNDIAL_")}
        self._bash = subprocess.Popen(
            ["bash"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
            cwd=ROOT,
            env=clean | own,
        )

    def says(self, command: str) -> tuple[str, int]:
        """What comes out, and the exit code."""
        self._bash.stdin.write(f'{{ {command}\n}} </dev/null\necho "{MARK} $?"\n')
        self._bash.stdin.flush()
        found = ""
        for line in self._bash.stdout:
            if ended := re.search(rf"{MARK} (\d+)\n$", line):
                return found + line[: ended.start()], int(ended[1])
            found += line
        raise AssertionError(f"the shell ended: {found}")

    def end(self) -> None:
        """With all that still runs in it; what the stack started is in sessions of its own."""
        os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.wait()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", [pytest.param(page, id=page.name, marks=() if page.name == PAGE else FULL) for page in PAGES])
def test_one_sees_what_the_page_shows(page, platform_stack, tmp_path):
    shell, checker = Shell(platform_stack.path, tmp_path), doctest.OutputChecker()
    before = process.recorded(platform_stack)
    try:
        for each in list(typed(page)):
            said, code = shell.says(each.command)
            got = re.sub(r"\x1b\[[0-9;]*m", "", said)
            seen = each.shown is None or checker.check_output(each.shown, got, EXACT)
            assert seen, f"{page.name}:{each.line}: {each.command}\nshould show\n{each.shown}\nbut shows\n{got}"
            assert code == 0, f"{page.name}:{each.line}: {each.command}\nexits with {code}, showing\n{got}"
    finally:
        shell.end()
        for name in set(process.recorded(platform_stack)) - set(before):
            process.stop(platform_stack, name)
        for instance in (Instance(folder) for folder in tmp_path.iterdir()):
            if instance.exists():
                lifecycle.down(instance, print)


def test_pages_are_typed():
    typed_ones = "access-logs backtest benchmarks connect delivery events metrics queries rides schemas"
    assert [page.stem for page in PAGES] == typed_ones.split()
