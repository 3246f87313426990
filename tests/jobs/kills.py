"""Drivers of declared queries that are killed while they work."""

import os
import random
import time
from collections.abc import Callable

from confluent_kafka.admin import AdminClient

from contracts.queries import load_application
from contracts.topics import query_topics
from stack import schemas, topics
from tests.jobs.applications import Driver, until
from tests.jobs.rides import Reader

KILLS = int(os.environ.get("SUNDIAL_TEST_KILLS", "3"))  # of each application
MOMENT = 6.0  # seconds after new work has come, within which a driver is killed: in its first batch, or in one of the next


def deployed(broker, application: str) -> Reader:
    """A reader of all topics of the application. They are new: what a test before this one had in topics so called is gone."""
    declared = query_topics(load_application(application).values())
    admin, names = AdminClient({"bootstrap.servers": broker.kafka}), {topic.name for topic in declared}

    def left() -> set[str]:
        return names & admin.list_topics(timeout=10).topics.keys()

    if left():
        admin.delete_topics(list(left()))
    until(lambda: not left(), "the topics are gone")
    topics.deploy(broker.kafka, declared)
    schemas.register(broker.registry, declared)
    return Reader(broker, *(topic.name for topic in declared))


def killed_while(start: Callable[[], Driver], work: Callable[[int], None], moments: random.Random) -> Driver:
    """Starts drivers one after the other and kills each a little after it has begun to do `work(number)`; returns the last."""
    for number in range(1, KILLS + 1):
        driver = start()
        until(driver.works, "the driver works")
        work(number)
        time.sleep(moments.uniform(0, MOMENT))
        driver.kill()
    return start()
