"""Drivers of declared queries that are killed while they work: at random moments, and once surely within a batch."""

import os
import random
import time
from collections.abc import Callable

from confluent_kafka.admin import AdminClient

from contracts.declared_topics import query_topics
from contracts.queries import load_application
from stack.deploy import schemas, topics
from tests.jobs.applications import Driver, until
from tests.jobs.rides import Reader

KILLS = int(os.environ.get("SUNDIAL_TEST_KILLS", "3"))  # of each application
MOMENT = 6.0  # seconds after new work has come, within which a driver is killed: in its first batch, or in one of the next
EARLY = 0.3  # seconds of a batch within which the sure kill comes


def deployed(broker, application: str) -> Reader:
    """A reader of all topics of the application. They are new: what a test before this one had in topics so called is gone."""
    declared = query_topics(load_application(application).values())
    admin, names = AdminClient({"bootstrap.servers": broker.kafka}), {topic.name for topic in declared}

    def left() -> set[str]:
        return names & admin.list_topics(timeout=10).topics.keys()

    if left():
        admin.delete_topics(list(left()))
    until("the topics are gone", lambda: not left())
    topics.deploy(broker.kafka, declared)
    schemas.register(broker.registry, declared)
    return Reader(broker, *(topic.name for topic in declared))


def killed_while(start: Callable[[], Driver], work: Callable[[int], None], chance: random.Random) -> Driver:
    """Starts drivers one after the other and kills each after it has begun to do `work(number)`; returns the last.

    All but one are killed at a random moment. That one is killed within a batch: its processes are stopped, and they are killed
    if the checkpoint has a batch that is planned and not done. So the next driver surely has a batch to make again.
    """
    sure = chance.randint(1, KILLS)
    interrupted: dict[int, set[str]] = {}
    for number in range(1, KILLS + 1):
        driver = start()
        until("the driver works", driver.works)
        work(number)
        if number == sure:
            driver.freeze_in_a_batch(chance.uniform(0, EARLY))
        else:
            time.sleep(chance.uniform(0, MOMENT))
        driver.kill()
        interrupted[number] = driver.open_batches()
        print(f"kill {number} of {KILLS}: open batches of {sorted(interrupted[number]) or 'no query'}")
    assert interrupted[sure], "no batch was open in the checkpoint of the driver that was killed within one"
    return start()
