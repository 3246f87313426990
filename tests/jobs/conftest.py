"""Jobs run in the tests' own Spark session, against a lake of their own."""

import datetime as dt
import shutil
import signal
import sys
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.feeds import Feed
from contracts.queries import QUERIES
from jobs.backends.settings import Platform
from stack.deploy import schemas, topics
from stack.instance import JARS
from tests.jobs import nights
from tests.jobs.applications import Driver
from tests.jobs.readings import ANY_TIME


def platform_in(folder: Path) -> Platform:
    """A platform with a lake and streams' folder there; Kafka and registry are nowhere."""
    return Platform("127.0.0.1:1", "http://127.0.0.1:1", str(folder / "lake"), str(folder / "streams"), str(JARS / "spark"))


@pytest.fixture
def lake_platform(tmp_path) -> Platform:
    return platform_in(tmp_path)


@pytest.fixture(scope="session")
def prebuilt(tmp_path_factory):
    """prebuilt(fill, lake): a lake that `fill(platform)` fills, a copy of `lake` if that is given. For fixtures that make once
    what several tests begin with."""

    def build(fill: Callable[[Platform], None], lake: Path | None = None) -> Path:
        folder = tmp_path_factory.mktemp("prebuilt")
        if lake:
            shutil.copytree(lake, folder / "lake")
        fill(platform_in(folder))
        return folder / "lake"

    return build


@pytest.fixture(scope="session")
def first_night(spark, run_job, prebuilt) -> Path:
    """The lake of nights.py: the readings before nights.AS_OF, and the baseline of the night n1 in force."""

    def fill(platform: Platform) -> None:
        days = (nights.AS_OF - nights.FIRST).days
        rows = [row for day in range(days) for row in nights.readings(nights.FIRST + dt.timedelta(days=day))]
        nights.arrive(spark, platform, rows)
        nights.night(run_job, platform, "n1", nights.AS_OF)

    return prebuilt(fill)


@pytest.fixture(scope="session")
def second_night(spark, run_job, prebuilt, first_night) -> Path:
    """A day later: a Monday with more traffic has come, and the baseline of the night n2 is in force."""

    def fill(platform: Platform) -> None:
        nights.arrive(spark, platform, nights.readings(nights.AS_OF, value=120))
        nights.night(run_job, platform, "n2", nights.AS_OF + dt.timedelta(days=1))

    return prebuilt(fill, first_night)


@pytest.fixture
def after_n1(lake_platform, first_night) -> None:
    """The lake of lake_platform is a copy of `first_night`."""
    shutil.copytree(first_night, lake_platform.lake)


@pytest.fixture
def after_n2(lake_platform, second_night) -> None:
    """The lake of lake_platform is a copy of `second_night`."""
    shutil.copytree(second_night, lake_platform.lake)


@pytest.fixture
def live_platform(lake_platform, broker) -> Platform:
    """As lake_platform, with a real broker and registry."""
    return replace(lake_platform, kafka=broker.kafka, registry=broker.registry)


@pytest.fixture
def own_signals():
    """A driver runs in this process: the signal handlers that it sets are gone afterwards."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def feed(broker, monkeypatch) -> Feed:
    """A feed of its own, with topics on the broker and contracts in the registry."""
    made = Feed(
        name=f"calls-{uuid.uuid4().hex[:8]}",
        description="calls",
        record="service_use_record",
        timezone="America/New_York",
        **ANY_TIME,
    )
    topics.deploy(broker.kafka, made.topics)
    schemas.register(broker.registry, made.topics)
    monkeypatch.setattr("jobs.backends.settings.load_feed", lambda name: made)
    return made


@pytest.fixture(scope="session")
def run_job(spark):
    """run_job(module, platform, *arguments): the job's main, as its command line would start it.

    A driver that fails leaves its queries to the end of its process. Here that goes on, so they would keep the session's cores
    from all that follows.
    """

    def run(module, platform: Platform, *arguments: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", [module.__file__, *arguments])
            try:
                module.main(platform)
            except BaseException:
                for query in spark.streams.active:
                    query.stop()
                raise

    return run


@pytest.fixture
def start(broker, tmp_path):
    """start(application, …): another driver on the same checkpoints; what still runs is killed in the end."""
    started = []

    def start(application: str, queries: Path = QUERIES, **more) -> Driver:
        started.append(Driver(broker, tmp_path, application, queries, **more))
        return started[-1]

    yield start
    for driver in started:
        driver.kill()
