"""What the command line shows while readings are played, and the exit code that sums it up."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from contracts.declarations import DeclarationError
from contracts.feeds import Feed
from contracts.kafka_credentials import CredentialsError
from sources.capture import BadRows, CaptureError
from sources.encoding import EncodingError
from sources.producer import Acks, PlatformError
from sources.replay import Report
from sources.simulated_incidents import IncidentError
from sources.thinning import ThinningError
from sources.timestamps import TimestampError, format_timestamp

EXPECTED = (
    CredentialsError,
    CaptureError,
    EncodingError,
    DeclarationError,
    IncidentError,
    TimestampError,
    PlatformError,
    ThinningError,
)
INTERRUPTED = 130  # what a shell reports of a program ended by Ctrl-C


class _Rate(ProgressColumn):
    def render(self, task) -> Text:
        return Text(f"{task.speed or 0:,.0f}/s")


class Bar:
    """A progress bar with count, rate and time left; a spinner where no total is known."""

    def __init__(self, progress: Progress, title: str, total: int | None):
        self._progress, self._task = progress, progress.add_task(title, total=total)

    def advance(self, events: int) -> None:
        self._progress.advance(self._task, events)


@contextmanager
def bar(title: str, total: int | None) -> Iterator[Bar]:
    columns = [
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
    ]
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield Bar(progress, title, total)


@contextmanager
def stopped_by_signal() -> Iterator[threading.Event]:
    """An event that Ctrl-C or SIGTERM sets, so that a play ends by flushing; a second one ends the program at once."""
    stop = threading.Event()

    def on_signal(number, frame):
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def errors_reported() -> Iterator[None]:
    """Expected errors become one line on stderr and exit code 2."""
    try:
        yield
    except EXPECTED as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from error


CONFIRMED = {Acks.ALL: "", Acks.ONE: ", each confirmed by one broker only", Acks.NONE: ", none of them confirmed by Kafka"}


def print_report(report: Report, feed: Feed) -> None:
    """The final line: what was played, from when to when, how fast, and what failed."""
    span = (
        f", {format_timestamp(report.first, feed)} to {format_timestamp(report.last, feed)}" if report.first is not None else ""
    )
    typer.echo(
        f"{report.delivered:,} events to {feed.topic} in {report.seconds:.1f} s ({report.rate:,.0f} events/s), "
        f"{report.failed:,} failed deliveries{CONFIRMED[report.acks]}{span}{' (stopped early)' if report.stopped else ''}"
    )
    if report.first_error:
        typer.echo(f"error: first failed delivery: {report.first_error}", err=True)


def print_bad_rows(bad: BadRows) -> None:
    for row in sorted(bad.listed, key=lambda row: (row.file, row.line)):
        typer.echo(f"bad row: {row}", err=True)
    if bad.count > len(bad.listed):
        typer.echo(f"bad row: … and {bad.count - len(bad.listed):,} more", err=True)
    typer.echo(f"{bad.count:,} bad rows were not played", err=True)


def finish(report: Report, failed: bool = False) -> None:
    """Leave with the exit code that the report deserves."""
    sys.stdout.flush()
    if report.stopped:
        raise typer.Exit(INTERRUPTED)
    if report.failed or failed:
        raise typer.Exit(1)
