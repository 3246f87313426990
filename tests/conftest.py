"""What tests of every room may ask for. Nothing is started until a test asks, and everything is stopped even if tests fail."""

from collections.abc import Iterator

import pytest
from xdist.scheduler import LoadFileScheduling

from stack import kafka, lifecycle, registry
from stack.home import JARS, Home
from tests.jvm import BRIEF

STORY = ("test_main_path.py", "test_outages.py")  # on one stack, in this order


def pytest_configure(config) -> None:
    config.addinivalue_line("markers", "end_to_end: starts a whole stack with Airflow; takes a minute or more")


def pytest_collection_modifyitems(items) -> None:
    """The story, which is long and waits more than it works, goes first: all the rest goes beside it."""
    items.sort(key=lambda item: item.path.name not in STORY)


class ByFile(LoadFileScheduling):
    """For several workers: a file's tests stay together, for its fixtures, and so do the files of the story."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "story" if file.endswith(STORY) else file


def pytest_xdist_make_scheduler(config, log) -> ByFile:
    return ByFile(config, log)


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
