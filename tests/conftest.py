"""What tests of every room may ask for. Nothing is started until a test asks, and everything is stopped even if tests fail."""

from collections.abc import Iterator

import pytest
from xdist.scheduler import LoadFileScheduling

from stack import kafka, lifecycle, registry
from stack.home import JARS, Home
from tests.jvm import BRIEF

# On one stack, in this order: the pages as somebody types them who has just begun, the outages last but for other feeds.
STACK = ("test_pages.py", "test_lifecycle.py", "test_main_path.py", "test_outages.py", "test_feeds.py")
CLUSTER = "tests/delivery/"


def pytest_configure(config) -> None:
    config.addinivalue_line("markers", "end_to_end: starts a whole stack with Airflow; takes a minute or more")


def pytest_collection_modifyitems(items) -> None:
    """What runs on the whole stack goes first, as it is long and waits more than it works: all the rest goes beside it."""
    items.sort(key=lambda item: STACK.index(item.path.name) if item.path.name in STACK else len(STACK))


class ByParts(LoadFileScheduling):
    """For several workers: a file's tests stay together, for its fixtures, and so do those of one stack or cluster, of which
    there is then one."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "stack" if file.endswith(STACK) else CLUSTER if file.startswith(CLUSTER) else file


def pytest_xdist_make_scheduler(config, log) -> ByParts:
    return ByParts(config, log)


def quiet(_: str) -> None:
    """Progress that nobody reads."""


@pytest.fixture(scope="session")
def broker(tmp_path_factory) -> Iterator[Home]:
    """Kafka and a schema registry, both empty: `.kafka`, `.registry`, `.environment()`."""
    home = Home(tmp_path_factory.mktemp("broker")).make(base=0)
    try:
        kafka.start(home)
        registry.start(home)
        yield home
    finally:
        lifecycle.down(home, quiet)


@pytest.fixture(scope="session")
def platform_stack(tmp_path_factory) -> Iterator[Home]:
    """A whole stack, Airflow and serving included, with the declared topics and contracts deployed."""
    home = Home(tmp_path_factory.mktemp("stack")).make(base=0)
    try:
        lifecycle.up(home, quiet)
        yield home
    finally:
        lifecycle.down(home, quiet)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """One Spark session for all tests: UTC, two threads, two shuffle partitions, no web page."""
    from jobs.settings import Platform
    from jobs.spark import session

    folder = tmp_path_factory.mktemp("spark")
    platform = Platform(
        kafka="", registry="", lake=str(folder / "lake"), streams=str(folder / "streams"), jars=str(JARS / "spark")
    )
    conf = {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC {BRIEF}",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
    }
    created = session("tests", platform, **conf)
    yield created
    created.stop()
