"""A silence on a real broker: the query emits it once and not before its time, whenever its driver dies."""

import datetime as dt
import time

import pytest

from contracts.feeds import load_feed
from supervision.files import StreamFolder
from tests.jobs.applications import until
from tests.jobs.readings import produce
from tests.jobs.rides import Reader
from tests.jobs.test_incidents_killed import deployed, read

pytestmark = [pytest.mark.kill, pytest.mark.full]

FEED = load_feed("service-use").model_copy(update={"name": "calls-that-stop"})  # with topics of its own
INTERVAL = FEED.interval_seconds
PATIENCE = (FEED.incidents.silence + 1) * INTERVAL  # seconds from the newest reading on, by the feed's clock
MANY = 20  # readings: the service is expected to go on


@pytest.mark.timeout(900)
def test_a_silence_is_there_once_whether_its_driver_died_before_it_or_as_it_was_emitted(broker, start, tmp_path):
    queries, reader = deployed(broker, tmp_path, FEED), Reader(broker, FEED.incidents_topic)
    newest = int(time.time()) // INTERVAL * INTERVAL - INTERVAL  # its interval is over
    readings = [newest - back * INTERVAL for back in reversed(range(MANY))]
    produce(broker, FEED, *[("a", dt.datetime.fromtimestamp(at, dt.UTC), 10) for at in readings])
    began = time.time()

    first = start("incidents", queries)
    done = StreamFolder.of(tmp_path, "incidents", "queries").checkpoint / "incidents" / "commits" / "0"
    until("the query has got the readings", done.exists)
    first.kill()
    assert read(reader, FEED) == [], "it was killed before the service was silent"

    dying = start("incidents", queries, dies="before")
    until("it dies before it commits the silence", dying.has_killed_itself)
    assert read(reader, FEED) == []
    dying = start("incidents", queries, dies="after")
    until("it dies after it has committed the silence, before Spark knows of it", dying.has_killed_itself)
    until("the silence is there", lambda: read(reader, FEED))
    [opened] = read(reader, FEED)
    assert (opened["ServiceName"], opened["Kind"], opened["State"]) == ("a", "silence", "opened")
    assert opened["Start"] == (newest + INTERVAL) * 1000
    assert opened["At"] == (newest + PATIENCE) * 1000
    [message] = [each for each in reader.look() if each.topic() == FEED.incidents_topic]
    assert message.timestamp()[1] >= (began + PATIENCE) * 1000, "the query got the newest reading after it began"

    last = start("incidents", queries)
    until("it goes on", last.works)
    again = int(time.time()) // INTERVAL * INTERVAL
    produce(broker, FEED, ("a", dt.datetime.fromtimestamp(again, dt.UTC), 10))
    until("the silence is over", lambda: len(read(reader, FEED)) > 1)
    assert last.stop() == 0
    found = read(reader, FEED)
    assert [(each["Id"], each["State"]) for each in found] == [(opened["Id"], "opened"), (opened["Id"], "closed")]
    assert found[1]["End"] == again * 1000
