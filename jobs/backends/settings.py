"""Configuration of the jobs from environment and arguments. Only this file reads them."""

import argparse
import datetime as dt
import os
import re
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from contracts.declarations import DeclarationError
from contracts.feeds import Feed, load_feed
from contracts.kafka_credentials import PLAIN, CredentialsError, KafkaCredentials
from contracts.queries import QUERIES
from jobs.errors import JobError
from supervision import task_life

UNATTENDED_SECONDS, UNATTENDED = "SUNDIAL_UNATTENDED_SECONDS", 3600
CHECKPOINT_SECONDS, CHECKPOINT = "SUNDIAL_CHECKPOINT_SECONDS", 60
# The next query begins ten seconds before a batch ends or sooner: with shorter batches, two would always run. Spark's real-time
# mode refuses batches of less than five seconds.
LEAST_CHECKPOINT = 15


@dataclass(frozen=True)
class Platform:
    """Where the parts of the platform are: the SUNDIAL_* variables."""

    kafka: str
    registry: str
    lake: str
    streams: str
    jars: str
    credentials: KafkaCredentials = PLAIN
    events: str = ""  # folder or URI into which Spark writes what a history server shows; empty: nowhere
    unattended: int = UNATTENDED  # seconds after the last look of its supervision at which a stream ends
    checkpoint: int = CHECKPOINT  # seconds between two commits of a feed's stream

    @classmethod
    def from_environment(cls) -> "Platform":
        names = {"kafka": "SUNDIAL_KAFKA", "registry": "SUNDIAL_REGISTRY", "lake": "SUNDIAL_LAKE"}
        names |= {"streams": "SUNDIAL_STREAMS", "jars": "SUNDIAL_JARS"}
        missing = [variable for variable in names.values() if not os.environ.get(variable)]
        if missing:
            raise JobError(f"not set: {', '.join(missing)}; `sundial env` prints them for the embedded stack")
        addresses = {field: os.environ[variable] for field, variable in names.items()}
        return cls(
            **addresses,
            credentials=KafkaCredentials.from_environment(),
            events=os.environ.get("SUNDIAL_SPARK_EVENTS", ""),
            unattended=_seconds(UNATTENDED_SECONDS, UNATTENDED),
            checkpoint=_seconds(CHECKPOINT_SECONDS, CHECKPOINT, LEAST_CHECKPOINT),
        )


def _seconds(variable: str, default: int, least: int = 1) -> int:
    text = os.environ.get(variable) or str(default)
    if not text.isdecimal() or int(text) < least:
        raise JobError(f"{variable} must be a number of seconds, at least {least}, is {text!r}")
    return int(text)


def submitted() -> bool:
    """Whether spark-submit started this process: master and resources are then its business."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def spark_secret() -> str:
    """By which the processes of a standalone Spark know each other; empty where they don't ask. Spark's own name for it."""
    return os.environ.get("_SPARK_AUTH_SECRET", "")


def python_workers_are_as_this() -> None:
    """Have Spark start its Python workers with this very interpreter, unless the environment names another."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def parser(description: str) -> argparse.ArgumentParser:
    """The command line that all jobs of a feed share: `--feed`."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("--feed", required=True, type=_feed, help="a feed declared under schemas/feeds/")
    return arguments


def add_feed_or_application(arguments: argparse.ArgumentParser) -> None:
    """`--feed` or `--application`, for a job of a stream of either kind."""
    either = arguments.add_mutually_exclusive_group(required=True)
    either.add_argument("--feed", type=_feed, help="a feed declared under schemas/feeds/")
    either.add_argument("--application", metavar="NAME", help="that queries name")
    add_queries(arguments)


def application_parser(description: str) -> argparse.ArgumentParser:
    """The command line of a job for an application's queries: `--application`."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("--application", required=True, metavar="NAME", help="that queries name")
    add_queries(arguments)
    return arguments


def query_parser(description: str) -> argparse.ArgumentParser:
    """The command line of a job for one query: `--query`."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("--query", required=True, metavar="NAME", help="a declared query")
    add_queries(arguments)
    return arguments


def add_queries(arguments: argparse.ArgumentParser) -> None:
    arguments.add_argument("--queries", type=Path, default=QUERIES, metavar="FOLDER", help="of declarations (schemas/queries)")


def topic_parser(description: str) -> argparse.ArgumentParser:
    """The command line of a job for one topic: `--topic`."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("--topic", required=True, metavar="NAME", help="that a feed or a declared query reads")
    return arguments


def add_run_id(arguments: argparse.ArgumentParser) -> None:
    arguments.add_argument("--run-id", required=True, type=_run_id, help="names the run in every table it writes")


def iso_date(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date like 2026-11-21") from None


def instant(text: str) -> dt.datetime:
    try:
        found = dt.datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time like 2026-11-21T12:00:00Z") from None
    return found if found.tzinfo else found.replace(tzinfo=dt.UTC)


def line(text: str) -> str:
    """One printable line, for reasons that are kept."""
    if len(text) > 500 or not text.isprintable():
        raise argparse.ArgumentTypeError("must be one line of at most 500 printable characters")
    return text


def said(text: str) -> str:
    """A line that is not empty: who says something, or why."""
    if not text.strip():
        raise argparse.ArgumentTypeError("must not be empty")
    return line(text)


def positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above zero")
    return int(text)


def checkpoint_seconds(text: str) -> int:
    if not text.isdecimal() or int(text) < LEAST_CHECKPOINT:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds, at least {LEAST_CHECKPOINT}")
    return int(text)


def run(job) -> NoReturn:
    """Runs a job's `main(platform)`. A JobError, DeclarationError or CredentialsError ends it with exit code 1 and its text."""
    task_life.watch(_end_at_once)
    try:
        job(Platform.from_environment())
    except (JobError, DeclarationError, CredentialsError) as error:
        print(f"ERROR {error}", file=sys.stderr, flush=True)
        sys.exit(1)
    sys.exit(0)


def _end_at_once() -> NoReturn:
    """Nothing is lost by it: tables change by whole commits, and a retry repeats what was not committed."""
    print("ERROR the task that this job belongs to is gone", file=sys.stderr, flush=True)
    if submitted():
        os.kill(os.getppid(), signal.SIGKILL)  # the JVM; its executors end with it
    task_life.delete_scratch()
    os._exit(1)


def _feed(name: str) -> Feed:
    try:
        return load_feed(name)
    except DeclarationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _run_id(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.:+-]{1,200}", text):
        raise argparse.ArgumentTypeError(f"{text!r}: letters, digits and _ . : + - only")
    return text
