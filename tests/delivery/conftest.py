"""Three brokers, as `sundial up --brokers 3` starts them, for all tests of what Kafka promises."""

from collections.abc import Iterator

import pytest

from stack import lifecycle
from stack.home import Home
from tests.delivery.cluster import Cluster


@pytest.fixture(scope="package")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    home = Home(tmp_path_factory.mktemp("cluster")).make(base=0, brokers=3)
    try:
        lifecycle.up_kafka(home, print)
        yield Cluster(home)
    finally:
        lifecycle.down(home, print)
