"""Incidents on a real broker: killed again and again, the query emits each event of each incident once, and the right one."""

import datetime as dt
from pathlib import Path

import numpy as np
import pytest
import yaml

from contracts.declared_topics import query_topics
from contracts.feeds import Feed
from contracts.incident_queries import declared_query, settings_of
from contracts.queries import Query
from jobs.backends import detector_states, tables
from jobs.backends.detector_states import Midnight
from jobs.transforms.incident_walk import Known, Settings, followed_through, readings_of
from stack.deploy import schemas, topics
from tests.jobs.applications import until
from tests.jobs.kills import KILLS, killed_while
from tests.jobs.readings import produce
from tests.jobs.rides import Reader
from tests.support.seed import chance
from tests.transforms.half_hours import FEED, HALF_HOUR, MANY, Row, events_of, half_hours

pytestmark = pytest.mark.full

OTHER = FEED.model_copy(update={"name": "half-hours-2"})  # with topics of its own
GARBAGE = b"\x00\x01\x02"


def read(reader: Reader, feed: Feed = FEED) -> list[dict]:
    """The events in the order of their partition, times in epoch milliseconds."""
    return [
        {name: int(cell.timestamp() * 1000) if isinstance(cell, dt.datetime) else cell for name, cell in value.items()}
        for value in reader.all_of(feed.incidents_topic, "incident")
    ]


def by_id(events: list[dict]) -> dict[str, list[dict]]:
    return {name: [each for each in events if each["Id"] == name] for name in {each["Id"] for each in events}}


def deployed(broker, folder: Path, feed: Feed = FEED, **changed) -> Path:
    """The folder of the declared query, whose topics and schemas are there."""
    declared = declared_query([feed])
    others = [each for each in feed.topics if each.name != feed.incidents_topic]
    wanted = query_topics([Query.model_validate(declared)], others) + others
    topics.deploy(broker.kafka, wanted)
    schemas.register(broker.registry, wanted)
    (folder / "queries").mkdir()
    (folder / "queries" / "incidents.yaml").write_text(yaml.safe_dump(declared | changed, sort_keys=False))
    return folder / "queries"


def monday_of_some_weeks_ago() -> dt.datetime:
    today = dt.datetime.now(dt.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - dt.timedelta(days=today.weekday() + 21)


def send(broker, monday: dt.datetime, rows: list[Row], *more: tuple, feed: Feed = FEED) -> None:
    half_hour = dt.timedelta(milliseconds=HALF_HOUR)
    produce(broker, feed, *[(name, monday + number * half_hour, int(value)) for name, number, value in rows], *more)


@pytest.mark.kill
@pytest.mark.timeout(300 + 120 * KILLS)
def test_each_event_of_each_incident_is_there_once(broker, start, tmp_path):
    queries, random_, monday = deployed(broker, tmp_path, most_per_batch=100), chance("incidents"), monday_of_some_weeks_ago()
    rows, parts = half_hours(), [MANY * each // (KILLS + 1) for each in range(KILLS + 2)]

    def work(number: int) -> None:
        send(broker, monday, [row for row in rows if parts[number] <= row[1] < parts[number + 1]], ("a", GARBAGE, 0))

    work(0)
    driver = killed_while(lambda: start("incidents", queries), work, random_)
    reader = Reader(broker, FEED.incidents_topic, FEED.dead_letter_topic)
    wanted = by_id(events_of(rows, int(monday.timestamp() * 1000)))
    until("all events are there", lambda: len(read(reader)) >= sum(map(len, wanted.values())))
    assert driver.stop() == 0
    found = by_id(read(reader))
    assert found.keys() == wanted.keys()
    for name, events in wanted.items():
        assert found[name] == sorted(events, key=lambda each: each["At"]), name
    assert [message for message in reader.look() if message.topic() == FEED.dead_letter_topic] == []


def walked_to(lake_platform, monday: dt.datetime, rows: list[Row], feed: Feed = OTHER) -> None:
    """What a night leaves that has walked through the rows of all dates before the next one."""
    settings = settings_of(feed)
    names, (services, numbers, values) = sorted({name for name, _, _ in rows}), zip(*rows, strict=True)
    at = int(monday.timestamp() * 1000) + np.array(numbers) * HALF_HOUR
    of_settings = Settings.of(settings)
    readings = readings_of(of_settings, names, list(services), at, at, np.floor(values))
    known, _ = followed_through(of_settings, Known(), names, readings, int(at.max()))
    date = (monday + dt.timedelta(days=numbers[-1] // 48 + 1)).date()
    midnight = Midnight(known, f"{detector_states.how(settings)}-digest")
    detector_states.write(tables.detector(lake_platform, feed), date, midnight, {})


def test_a_query_that_begins_takes_up_what_the_night_knew(broker, start, tmp_path, lake_platform):
    queries, monday, rows, night = deployed(broker, tmp_path, OTHER), monday_of_some_weeks_ago(), half_hours(), 12 * 48
    walked_to(lake_platform, monday, [row for row in rows if row[1] < night])
    newest = int(monday.timestamp() * 1000) + (night - 1) * HALF_HOUR
    every = [each for each in events_of(rows, int(monday.timestamp() * 1000)) if each["At"] > newest]
    cut = newest + 80 * HALF_HOUR
    reader = Reader(broker, OTHER.incidents_topic)
    send(broker, monday, [row for row in rows if night - 48 <= row[1] < night + 80], feed=OTHER)
    driver = start("incidents", queries)
    first = [each for each in every if each["At"] <= cut]
    assert 0 < len(first) < len(every)
    until("the first events are there", lambda: len(read(reader, OTHER)) >= len(first))
    assert driver.stop() == 0
    again = start("incidents", queries)  # goes on from its own state
    send(broker, monday, [row for row in rows if row[1] >= night + 80], feed=OTHER)
    until("all events are there", lambda: len(read(reader, OTHER)) >= len(every))
    assert again.stop() == 0
    assert by_id(read(reader, OTHER)) == {
        name: sorted(events, key=lambda each: each["At"]) for name, events in by_id(every).items()
    }
    assert "goes on with what detector/half_hours_2 knew at the beginning of" in (tmp_path / "drivers.log").read_text()
