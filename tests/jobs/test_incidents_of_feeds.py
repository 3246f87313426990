"""Feeds that come and go on a real broker: the query of incidents goes on in the others, and has all incidents of each."""

import datetime as dt
import shutil
from pathlib import Path

import pytest
import yaml

from contracts.declared_topics import query_topics
from contracts.feeds import Feed
from contracts.incident_queries import declared_query
from contracts.queries import QUERIES, Query
from stack.deploy import schemas, topics
from tests.jobs.applications import Driver, until
from tests.jobs.rides import Reader
from tests.jobs.test_incidents_killed import by_id, monday_of_some_weeks_ago, read, send, walked_to
from tests.transforms.half_hours import FEED, MANY, Row, events_of, half_hours

pytestmark = pytest.mark.full

FIRST, SECOND, THIRD = (FEED.model_copy(update={"name": f"feed-that-{what}"}) for what in ("goes", "stays", "comes"))
NIGHT, LATER = 12 * 48, 14 * 48  # half hours


class Declared:
    """The folder of declarations."""

    def __init__(self, folder: Path):
        self.queries, self._feeds = folder / "queries", folder / "feeds"
        for each in (self.queries, self._feeds):
            each.mkdir()
        shutil.copy(QUERIES / "rides-last.yaml", self.queries)  # some query has to be declared

    def add(self, feed: Feed, **changed) -> None:
        said = feed.model_dump(include={"name", "description", "record", "interval_seconds", "spread_window_seconds"})
        said |= {"incidents": {"silence": feed.incidents.silence}, **changed}
        (self._feeds / f"{feed.name}.yaml").write_text(yaml.safe_dump(said))

    def remove(self, feed: Feed) -> None:
        (self._feeds / f"{feed.name}.yaml").unlink()


def deploy(broker, feed: Feed) -> Reader:
    wanted = [each for each in feed.topics if each.name != feed.incidents_topic]
    wanted += query_topics([Query.model_validate(declared_query([feed]))], wanted)
    topics.deploy(broker.kafka, wanted)
    schemas.register(broker.registry, wanted)
    return Reader(broker, feed.incidents_topic)


def before(number: int, first: int = 0) -> list[Row]:
    return [row for row in half_hours() if first <= row[1] < number]


def wanted(monday: dt.datetime, rows: list[Row]) -> dict[str, list[dict]]:
    events = by_id(events_of(rows, int(monday.timestamp() * 1000)))
    assert len(events) > 2
    return {name: sorted(each, key=lambda event: event["At"]) for name, each in events.items()}


def until_found(reader: Reader, feed: Feed, events: dict[str, list[dict]], driver: Driver) -> None:
    def found() -> bool:
        driver.works()  # raises if it has ended
        return len(read(reader, feed)) >= sum(map(len, events.values()))

    until(f"the events of {feed.name} are there", found)
    assert by_id(read(reader, feed)) == events


@pytest.mark.timeout(900)
def test_feeds_come_and_go_and_the_others_go_on(broker, start, tmp_path, lake_platform):
    declared, monday, rows = Declared(tmp_path), monday_of_some_weeks_ago(), half_hours()
    declared.add(FIRST)
    first = deploy(broker, FIRST)
    send(broker, monday, before(LATER), feed=FIRST)
    driver = start("incidents", declared.queries)
    until_found(first, FIRST, wanted(monday, before(LATER)), driver)

    declared.add(SECOND)  # and not deployed yet
    assert driver.stop() == 0
    again = start("incidents", declared.queries)
    until("it runs without the feed that has no topics", again.works)
    second = deploy(broker, SECOND)
    send(broker, monday, before(LATER), feed=SECOND)
    until_found(second, SECOND, wanted(monday, before(LATER)), again)  # read by the driver that runs
    assert again.stop() == 0

    declared.remove(FIRST)
    declared.add(THIRD)
    third = deploy(broker, THIRD)
    last = start("incidents", declared.queries)
    until("it runs without the feed that has no record", last.works)
    walked_to(lake_platform, monday, before(NIGHT), THIRD)  # as after a bootstrap
    send(broker, monday, before(MANY, NIGHT), feed=THIRD)
    send(broker, monday, before(MANY, LATER), feed=SECOND)
    until_found(second, SECOND, wanted(monday, rows), last)
    newest = int(monday.timestamp() * 1000) + (NIGHT - 1) * FEED.interval_seconds * 1000
    of_third = {name: [each for each in events if each["At"] > newest] for name, events in wanted(monday, rows).items()}
    until_found(third, THIRD, {name: events for name, events in of_third.items() if events}, last)
    assert "goes on with what detector/feed_that_comes knew at the beginning of" in (tmp_path / "drivers.log").read_text()
    assert last.stop() == 0
    assert by_id(read(first, FIRST)) == wanted(monday, before(LATER))

    declared.add(SECOND, timezone="Africa/Abidjan")  # no other clock than before, but the states may mean something else
    other = start("incidents", declared.queries)
    twice = {name: events * 2 for name, events in wanted(monday, rows).items()}
    until_found(second, SECOND, twice, other)
    assert other.stop() == 0
    assert sum(map(len, by_id(read(third, THIRD)).values())) == sum(map(len, of_third.values()))
