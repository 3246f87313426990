"""Incidents on a real broker: killed again and again, the query emits each event of each incident once, and the right one."""

import datetime as dt

import pytest
import yaml

from contracts.declared_topics import query_topics
from contracts.incident_queries import declared_query
from contracts.queries import Query
from stack.deploy import schemas, topics
from tests.jobs.applications import until
from tests.jobs.kills import KILLS, killed_while
from tests.jobs.readings import produce
from tests.jobs.rides import Reader
from tests.support.seed import chance
from tests.transforms.half_hours import FEED, HALF_HOUR, MANY, events_of, half_hours

pytestmark = [pytest.mark.kill, pytest.mark.full]

GARBAGE = b"\x00\x01\x02"


def read(reader: Reader) -> list[dict]:
    """The events in the order of their partition, times in epoch milliseconds."""
    return [
        {name: int(cell.timestamp() * 1000) if isinstance(cell, dt.datetime) else cell for name, cell in value.items()}
        for value in reader.all_of(FEED.incidents_topic, "incident")
    ]


def by_id(events: list[dict]) -> dict[str, list[dict]]:
    return {name: [each for each in events if each["Id"] == name] for name in {each["Id"] for each in events}}


@pytest.mark.timeout(300 + 120 * KILLS)
def test_each_event_of_each_incident_is_there_once(broker, start, tmp_path):
    declared = declared_query([FEED])
    query = Query.model_validate(declared)
    others = [each for each in FEED.topics if each.name != FEED.incidents_topic]
    deployed = query_topics([query], others) + others
    topics.deploy(broker.kafka, deployed)
    schemas.register(broker.registry, deployed)
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "incidents.yaml").write_text(yaml.safe_dump(declared | {"most_per_batch": 100}))
    random_ = chance("incidents")
    today = dt.datetime.now(dt.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    monday = today - dt.timedelta(days=today.weekday() + 21)
    rows, parts = half_hours(), [MANY * each // (KILLS + 1) for each in range(KILLS + 2)]

    def work(number: int) -> None:
        half_hour = dt.timedelta(milliseconds=HALF_HOUR)
        of_part = [row for row in rows if parts[number] <= row[1] < parts[number + 1]]
        produce(broker, FEED, *[(name, monday + row * half_hour, int(value)) for name, row, value in of_part], ("a", GARBAGE, 0))

    work(0)
    driver = killed_while(lambda: start("incidents", tmp_path / "queries"), work, random_)
    reader = Reader(broker, FEED.incidents_topic, FEED.dead_letter_topic)
    wanted = by_id(events_of(rows, int(monday.timestamp() * 1000)))
    until("all events are there", lambda: len(read(reader)) >= sum(map(len, wanted.values())))
    assert driver.stop() == 0
    found = by_id(read(reader))
    assert found.keys() == wanted.keys()
    for name, events in wanted.items():
        assert found[name] == sorted(events, key=lambda each: each["At"]), name
    assert [message for message in reader.look() if message.topic() == FEED.dead_letter_topic] == []
