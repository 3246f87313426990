"""Three brokers, as `sundial up --brokers 3` starts them, for all tests of what Kafka promises."""

from collections.abc import Iterator

import pytest

from stack.instance import Instance
from stack.parts import lifecycle
from tests.delivery.cluster import Cluster


@pytest.fixture(scope="package")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    instance = Instance(tmp_path_factory.mktemp("cluster")).make(base=0, brokers=3)
    try:
        lifecycle.up_kafka(instance, print)
        yield Cluster(instance)
    finally:
        lifecycle.down(instance, print)
