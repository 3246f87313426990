"""What tests of every room may ask for. Nothing is started until a test asks, and everything is stopped even if tests fail."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from stack.instance import JARS, Instance
from stack.parts import kafka, lifecycle, registry
from tests.jvm import BRIEF, LIGHT

pytest_plugins = [f"tests.support.{plugin}" for plugin in ("tiers", "seed", "failures", "jvm_connection", "certificates")]

# No deadline: the first call may load time zones or start a JVM. `make test-all` asks for the thorough one.
UNHURRIED = {"deadline": None, "suppress_health_check": list(hypothesis.HealthCheck), "print_blob": True}
hypothesis.settings.register_profile("quick", max_examples=25, **UNHURRIED)
hypothesis.settings.register_profile("thorough", max_examples=250, **UNHURRIED)
hypothesis.settings.load_profile(os.environ.get("SUNDIAL_TEST_PROFILE", "quick"))
# A stream takes up a promotion at its next commit: no test waits a minute for that.
os.environ.setdefault("SUNDIAL_CHECKPOINT_SECONDS", "20")
os.environ.setdefault("SUNDIAL_STREAM_JAVA_OPTIONS", LIGHT)


def quiet(_: str) -> None:
    """Progress that nobody reads."""


@contextlib.contextmanager
def kafka_and_registry(folder: Path) -> Iterator[Instance]:
    """Both empty, in this folder: `.kafka`, `.registry`, `.environment()`."""
    instance = Instance(folder).make(base=0)
    try:
        kafka.start(instance)
        registry.start(instance)
        yield instance
    finally:
        lifecycle.down(instance, quiet)


@pytest.fixture(scope="session")
def broker(tmp_path_factory) -> Iterator[Instance]:
    """Kafka and a schema registry of all tests of a worker."""
    with kafka_and_registry(tmp_path_factory.mktemp("broker")) as instance:
        yield instance


@pytest.fixture(scope="session")
def platform_stack(tmp_path_factory) -> Iterator[Instance]:
    """A whole stack, Airflow and serving included, with the declared topics and contracts deployed."""
    instance = Instance(tmp_path_factory.mktemp("stack")).make(base=0)
    try:
        lifecycle.up(instance, quiet)
        yield instance
    finally:
        lifecycle.down(instance, quiet)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """One Spark session for all tests: UTC, two threads, two shuffle partitions, no web page."""
    from jobs.backends.settings import Platform
    from jobs.backends.spark import session

    folder = tmp_path_factory.mktemp("spark")
    platform = Platform(
        kafka="", registry="", lake=str(folder / "lake"), streams=str(folder / "streams"), jars=str(JARS / "spark")
    )
    conf = {
        "spark.driver.memory": "2g",  # it lives for as long as the worker
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC {BRIEF}",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
    }
    created = session("tests", platform, **conf)
    yield created
    created.stop()


@pytest.fixture(autouse=True)
def _nothing_stays_cached(request) -> Iterator[None]:
    """What a job caches goes with its process. Here the session goes on."""
    yield
    if "spark" in request.fixturenames:
        request.getfixturevalue("spark").catalog.clearCache()
