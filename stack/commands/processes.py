"""`sundial logs`, `sundial pid`: one process or stream of a stack."""

import contextlib
import subprocess
from typing import Annotated

import typer

from stack.commands.console import failures_reported
from stack.errors import StackError
from supervision.files import stream_folders


def logs(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A process or stream of `sundial status`.")],
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Keep printing what is added.")] = False,
    lines: Annotated[int, typer.Option("-n", "--lines", help="Start this many lines before the end.")] = 50,
) -> None:
    """The log of a process or a stream."""
    instance = context.obj
    known = {file.stem: file for file in sorted(instance.logs.glob("*.log"))}
    known |= {folder.name: folder.log for folder in stream_folders(instance.streams)}
    with failures_reported():
        if name not in known:
            raise StackError(f"no log of {name!r} in {instance.logs}", remedy=f"one of: {', '.join(known) or 'none yet'}")
    with contextlib.suppress(KeyboardInterrupt):
        subprocess.run(["tail", "-n", str(lines), *(["-F"] if follow else []), str(known[name])])


def pid(context: typer.Context, name: Annotated[str, typer.Argument(help="A process of `sundial status`.")]) -> None:
    """The pid of a process, for scripts."""
    from stack.parts import process

    with failures_reported():
        if not (found := process.find(context.obj, name)):
            raise StackError(f"no process {name!r} runs in {context.obj.path}", remedy="sundial status shows those that do")
        print(found.pid)
