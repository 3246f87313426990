"""The feed's topic and its schema, as a producer needs them: looked up, checked, never created or registered from here."""

import json
import os
from collections.abc import Callable
from enum import StrEnum

import httpx
from confluent_kafka import KafkaException, Producer

from contracts.avro import subject
from contracts.feeds import Feed
from contracts.kafka_credentials import KafkaCredentials
from sources.encoding import ReadingEncoder

LOOK_UP_SECONDS = 10
QUEUE_MESSAGES = 500_000


class Acks(StrEnum):
    """Who confirms an event before it counts as delivered."""

    ALL = "all"  # every in-sync replica
    ONE = "1"  # the partition's leader
    NONE = "0"  # none: it was sent


class PlatformError(RuntimeError):
    """Kafka or the registry can't take the readings; the message names the address, topic or subject and the remedy."""


def address(given: str | None, variable: str, option: str) -> str:
    """An address from the option or else the environment."""
    found = given or os.environ.get(variable)
    if not found:
        raise PlatformError(
            f"no address: give {option} or set {variable} (`sundial up` starts a platform, `sundial status` shows its addresses)"
        )
    return found


def encoder(feed: Feed, registry: str) -> ReadingEncoder:
    """The encoder for the newest schema that is registered for the feed's topic."""
    name = subject(feed.topic)
    try:
        with httpx.Client(timeout=LOOK_UP_SECONDS, transport=httpx.HTTPTransport(retries=2)) as client:
            answer = client.get(f"{registry.rstrip('/')}/subjects/{name}/versions/latest")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise PlatformError(f"no registry answers at {registry} ({error}): is the platform up (`sundial status`)?") from error
    if answer.status_code == httpx.codes.NOT_FOUND:
        raise PlatformError(
            f"subject {name} is not registered at {registry}: run `sundial up` or `sundial schemas register` "
            "(or is this not the Confluent API, whose URL with Apicurio ends in /apis/ccompat/v7?)"
        )
    try:
        found = answer.raise_for_status().json()
        return ReadingEncoder(feed, found["schema"], found["id"])
    except (httpx.HTTPStatusError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise PlatformError(
            f"registry {registry} did not show subject {name}: {error!r}; is it the Confluent API's URL?"
        ) from error


def producer(topic: str, kafka: str, linger_ms: int, on_error: Callable, acks: Acks = Acks.ALL) -> Producer:
    """A producer that neither loses nor doubles nor reorders, unless fewer acks than all are asked for.

    on_error(error, message) is called for each failed delivery.
    """
    made = Producer(
        {
            **KafkaCredentials.from_environment().client_options(kafka),
            "client.id": "sundial-sources",
            "enable.idempotence": acks is Acks.ALL,  # Kafka has it with no other
            "acks": acks.value,
            "compression.type": "lz4",
            "partitioner": "murmur2_random",  # a service goes to the partition that Java producers choose for it
            "linger.ms": linger_ms,
            "batch.size": 1 << 20,
            "queue.buffering.max.messages": QUEUE_MESSAGES,
            "delivery.report.only.error": True,
            "on_delivery": on_error,
            "error_cb": lambda error: None,  # failures surface as undelivered messages; without this each retry prints a line
            "log_level": 2,
        }
    )
    try:
        topics = made.list_topics(timeout=LOOK_UP_SECONDS).topics  # of all: naming one would create it
    except KafkaException as error:
        raise PlatformError(
            f"no Kafka broker answers at {kafka} ({error.args[0].str()}): is the platform up (`sundial status`)?"
        ) from error
    if topic not in topics:
        raise PlatformError(f"no topic {topic} at {kafka}: `sundial up` creates the topics of every declaration")
    return made
