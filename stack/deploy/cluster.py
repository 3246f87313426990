"""A Kafka cluster by its address: its admin client, how many brokers keep each record, and the topics that the registry needs."""

from collections.abc import Iterable

from confluent_kafka.admin import AdminClient, NewTopic

from contracts.kafka_credentials import PLAIN, KafkaCredentials
from stack.instance import COPIES

# The registry would create these with Kafka's default retention and forget every schema after a week.
FOREVER = ("kafkasql-journal", "kafkasql-snapshots")
REGISTRY_EVENTS = "registry-events"  # the registry writes its changes here, and fails where it can't; nothing reads it


def admin(bootstrap: str, credentials: KafkaCredentials = PLAIN) -> AdminClient:
    return AdminClient(credentials.client_options(bootstrap) | {"log_level": 0, "socket.timeout.ms": 10_000})


def replication(bootstrap: str, credentials: KafkaCredentials) -> int:
    """How many brokers of a cluster keep each record unless an option says: three, or all where there are fewer."""
    return min(COPIES, len(admin(bootstrap, credentials).list_topics(timeout=10).brokers))


def in_sync(replication: int) -> int:
    """On how many brokers a record must be before it is confirmed: on all but one, so that one may be away."""
    return max(1, replication - 1)


def of_registry(replication: int) -> list[NewTopic]:
    """Every topic of a registry that may not make its own."""
    return [*forever(FOREVER, replication), NewTopic(REGISTRY_EVENTS, 1, replication, config={"retention.ms": "86400000"})]


def forever(names: Iterable[str], replication: int) -> list[NewTopic]:
    """Topics of one partition whose records are never deleted."""
    return [NewTopic(name, 1, replication, config={"retention.ms": "-1", "cleanup.policy": "delete"}) for name in names]
