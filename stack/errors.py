"""The one kind of failure that the `sundial` command reports: what failed, where its log is, what to do."""

from pathlib import Path


class StackError(Exception):
    """A failure that a user can act on."""

    def __init__(self, what: str, *, log: Path | None = None, remedy: str | None = None):
        super().__init__(what)
        self.what, self.log, self.remedy = what, log, remedy

    def __str__(self) -> str:
        lines = [self.what]
        if self.log:
            lines.append(f"log: {self.log}")
        if self.remedy:
            lines.append(f"what to do: {self.remedy}")
        return "\n".join(lines)


class Busy(StackError):
    """Another process is starting or stopping the stack."""


def first_line(error: str) -> str:
    """Of an error in which Spark's plan may follow."""
    return error.strip().partition("\n")[0]


def tail(log: Path, lines: int = 15) -> str:
    """The end of a log file, for an error message."""
    if not log.exists():
        return "(no log was written)"
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 16_384))
        return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
