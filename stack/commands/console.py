"""What the commands of `sundial` have in common: where they print, how they fail, and which platform they speak to."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator

import typer
from confluent_kafka import KafkaException
from rich.console import Console
from rich.markup import escape

from contracts.declarations import DeclarationError
from contracts.kafka_credentials import PLAIN, CredentialsError, KafkaCredentials
from stack.errors import StackError
from stack.instance import Instance

console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
errors = Console(stderr=True, highlight=False)


@contextlib.contextmanager
def failures_reported() -> Iterator[None]:
    """Report what failed, where its log is and what to do; exit 1."""
    try:
        yield
    except (StackError, DeclarationError, CredentialsError, KafkaException) as failure:
        errors.print(f"[red]error:[/red] {escape(str(failure))}", soft_wrap=True)
        raise typer.Exit(1) from failure


def progress() -> Callable[[str], None]:
    """Prints each step with the seconds since the command began."""
    started = time.monotonic()
    return lambda text: console.print(f"[dim]{time.monotonic() - started:6.1f} s[/dim]  {escape(text)}", soft_wrap=True)


def kafka_of(instance: Instance) -> tuple[str, KafkaCredentials]:
    """The brokers to work on: those of SUNDIAL_KAFKA, with what they ask of a client, or else the embedded one."""
    if address := os.environ.get("SUNDIAL_KAFKA"):
        return address, KafkaCredentials.from_environment()
    return instance.kafka, PLAIN


def registry_of(instance: Instance) -> str:
    return os.environ.get("SUNDIAL_REGISTRY") or instance.registry
