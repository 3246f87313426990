"""Streams of the stack, started and stopped through Airflow, which keeps them running: one per feed, one per application of
declared queries."""

import datetime as dt
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from contracts.feeds import load_feed
from contracts.queries import load_application
from stack.errors import StackError, first_line, tail
from stack.instance import Instance
from stack.parts import airflow, job
from stack.parts.airflow_api import AirflowApi
from supervision.files import StreamFolder
from supervision.status import StreamStatus, read_status

START_WITHIN, STOP_WITHIN = 180.0, 120.0
Say = Callable[[str], None]


@dataclass(frozen=True)
class Stream:
    """What scores a feed, or runs the queries of an application: a driver, and the DAG that supervises it."""

    of: str  # the feed, or the application
    kind: Literal["score", "queries"]

    @property
    def dag(self) -> str:
        return f"{'supervise_streams' if self.kind == 'score' else 'supervise_queries'}.{self.of}"

    @property
    def start_command(self) -> str:
        return f"sundial {'streams' if self.kind == 'score' else 'queries'} start {self.of}"

    def folder(self, instance: Instance) -> StreamFolder:
        return StreamFolder.of(instance.streams, self.of, self.kind)

    def status(self, instance: Instance) -> StreamStatus:
        return read_status(self.folder(instance))

    def state(self, instance: Instance) -> str:
        return self.status(instance).state if self.folder(instance).path.exists() else "never started"

    def declared(self) -> None:
        """Raises DeclarationError where no file declares its feed or application."""
        load_feed(self.of) if self.kind == "score" else load_application(self.of)


def switch_on(instance: Instance, stream: Stream, say: Say) -> None:
    """Have Airflow keep the stream running. One that was given up is tried at once."""
    stream.declared()
    stream.folder(instance).clear_given_up()
    AirflowApi(instance).unpause(stream.dag)
    say(f"{stream.dag} is on: Airflow keeps it running")


def start(instance: Instance, stream: Stream, say: Say) -> None:
    """Switch on the stream's DAG, and wait until the stream runs."""
    switch_on(instance, stream, say)
    await_running(instance, stream, say)


def await_running(instance: Instance, stream: Stream, say: Say) -> None:
    """Wait until a stream runs that was switched on.

    Says why a driver ended when Airflow launches it again. Raises StackError if it is given up, or does not run in time.
    """
    began, reported = time.monotonic(), ""

    def look(seen: StreamStatus) -> None:
        nonlocal reported
        new = seen.age is not None and seen.age < time.monotonic() - began
        error = first_line(seen.heartbeat.get("last_error") or "") if new and not seen.alive else ""
        if error and error != reported:
            reported = error
            say(f"its driver has ended, and is launched again: {error}")
        if seen.given_up:
            what = f"{seen.name} was given up, as it ended again and again: {reported or tail(seen.log)}"
            raise StackError(what, log=seen.log, remedy=f"correct what it names, then: {stream.start_command}")

    _await(instance, stream, "running", START_WITHIN, f"see {instance.airflow}/dags/{stream.dag}", look)


def stop(instance: Instance, stream: Stream, say: Say) -> None:
    """Switch the stream's DAG off and end its run: the stream stops between two batches, and goes on from there later."""
    if not stream.folder(instance).path.exists():
        stream.declared()  # never started: it may not even be declared. What runs is stopped whatever is declared now
    api = AirflowApi(instance)
    api.pause(stream.dag)
    api.end_active(stream.dag)
    if stream.status(instance).alive:
        say(f"{stream.dag} is off; its driver ends")
        _await(instance, stream, "stopped", STOP_WITHIN, f"kill pid {stream.status(instance).pid}")


def skip_lost(instance: Instance, stream: Stream) -> str:
    """Have a stopped stream go on with what its topics hold; what jobs/skip_lost.py prints. Raises StackError with its error."""
    stream.declared()
    option = "--feed" if stream.kind == "score" else "--application"
    run_id = f"skip-lost-{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%S}"
    return job.printed(instance, "jobs.skip_lost", option, stream.of, "--run-id", run_id)


def _await(
    instance: Instance,
    stream: Stream,
    wanted: str,
    seconds: float,
    remedy: str,
    look: Callable[[StreamStatus], None] = lambda _: None,
) -> None:
    deadline = time.monotonic() + seconds
    while (seen := stream.status(instance)).state != wanted:
        look(seen)
        airflow.require_started(instance)
        if time.monotonic() > deadline:
            what = f"{seen.name} is {seen.state} after {seconds:.0f} s; its log ends:\n{tail(seen.log)}"
            raise StackError(what, log=seen.log, remedy=remedy)
        time.sleep(0.3)
