"""Jobs run in the tests' own Spark session, against a lake of their own."""

import sys
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.feeds import Feed
from contracts.queries import QUERIES
from jobs.settings import Platform
from stack import schemas, topics
from stack.home import JARS
from tests.jobs.applications import Driver


@pytest.fixture
def lake_platform(tmp_path) -> Platform:
    """A platform with a lake and streams' folder in tmp_path; Kafka and registry are nowhere."""
    return Platform("127.0.0.1:1", "http://127.0.0.1:1", str(tmp_path / "lake"), str(tmp_path / "streams"), str(JARS / "spark"))


@pytest.fixture
def live_platform(lake_platform, broker) -> Platform:
    """As lake_platform, with a real broker and registry."""
    return replace(lake_platform, kafka=broker.kafka, registry=broker.registry)


@pytest.fixture
def feed(broker, monkeypatch) -> Feed:
    """A feed of its own, with topics on the broker and contracts in the registry."""
    made = Feed(
        name=f"calls-{uuid.uuid4().hex[:8]}", description="calls", record="service_use_record", timezone="America/New_York"
    )
    topics.deploy(broker.kafka, made.topics)
    schemas.register(broker.registry, made.topics)
    monkeypatch.setattr("jobs.settings.load_feed", lambda name: made)
    return made


@pytest.fixture
def run_job(spark, monkeypatch):
    """run_job(module, platform, *arguments): the job's main, as its command line would start it."""

    def run(module, platform: Platform, *arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", [module.__file__, *arguments])
        module.main(platform)

    return run


@pytest.fixture
def start(broker, tmp_path):
    """start(application, …): another driver on the same checkpoints; what still runs is killed in the end."""
    started = []

    def start(application: str, queries: Path = QUERIES, dies: str | None = None) -> Driver:
        started.append(Driver(broker, tmp_path, application, queries, dies))
        return started[-1]

    yield start
    for driver in started:
        driver.kill()
