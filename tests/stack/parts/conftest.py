"""A stack's Kafka and registry, for tests of what sends readings."""

from collections.abc import Iterator

import pytest

from contracts.declared_topics import declared_topics
from stack.deploy import schemas, topics
from stack.instance import Instance
from stack.parts import kafka, lifecycle, registry


@pytest.fixture
def instance(tmp_path, request) -> Iterator[Instance]:
    """Kafka and the registry with the empty topic of the module's FEED."""
    made = Instance(tmp_path / "home").make(base=0)
    try:
        kafka.start(made)
        registry.start(made)
        own = [topic for topic in declared_topics() if topic.name == request.module.FEED.topic]
        topics.deploy(made.kafka, own)
        schemas.register(made.registry, own)
        yield made
    finally:
        lifecycle.down(made, print)
