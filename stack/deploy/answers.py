"""A broker or a registry that does not answer, said so that one knows what to start or to correct."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2  # what confluent-kafka's registry client speaks
from confluent_kafka import KafkaError, KafkaException

from stack.errors import StackError

SILENT = {KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN, KafkaError.REQUEST_TIMED_OUT}


@contextmanager
def from_kafka(bootstrap: str) -> Iterator[None]:
    """Raises StackError if the brokers at this address do not answer while the block runs."""
    try:
        yield
    except (KafkaException, TimeoutError) as error:  # TimeoutError: the client goes on with the request
        if isinstance(error, KafkaException) and error.args[0].code() not in SILENT:
            raise
        raise _silent(f"Kafka at {bootstrap}", "start the brokers (`sundial up`) or correct SUNDIAL_KAFKA") from error


@contextmanager
def from_registry(url: str) -> Iterator[None]:
    """Raises StackError if the registry at this address does not answer while the block runs."""
    try:
        yield
    except httpx2.TransportError as error:
        raise _silent(f"the schema registry at {url}", "start it (`sundial up`) or correct SUNDIAL_REGISTRY") from error


def _silent(what: str, remedy: str) -> StackError:
    return StackError(f"{what} does not answer", remedy=remedy)
