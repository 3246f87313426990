"""The client against the API itself: rows, pages, errors; and each of its methods against the API's description."""

import datetime as dt
import inspect
import re
import threading

import httpx
import pandas as pd
import pytest
from fastapi.responses import RedirectResponse
from fastapi.testclient import TestClient

from serving import lake as lake_module
from serving.app import create_app
from serving.kept_events import SCORED, Event
from serving.memory import Anomaly, Reading
from serving.settings import Settings
from sundial.client import ApiError, Client
from tests.serving import world
from tests.serving.conftest import declare, feed, lake, served  # noqa: F401
from tests.serving.test_incidents import of
from tests.support.waiting import until

NOON = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
STEP = dt.timedelta(seconds=10)
NAME = "a/b ü?&"
pytestmark = pytest.mark.filterwarnings("ignore:You should not use the 'timeout' argument")


@pytest.fixture
def settings(tmp_path, feed, lake) -> Settings:  # noqa: F811
    """Nobody answers for the broker and the registry."""
    folders = {"lake": str(lake), "streams": str(tmp_path / "streams"), "feeds": declare(tmp_path / "feeds", feed)}
    return Settings("127.0.0.1:1", "http://127.0.0.1:1", **folders)


@pytest.fixture
def state(app):
    return app.state.sundial


@pytest.fixture
def app(settings, monkeypatch):
    monkeypatch.setattr(lake_module, "FRESH_SECONDS", 0.0)
    return create_app(settings)


@pytest.fixture
def sundial(app) -> Client:
    return Client("http://127.0.0.1", http=TestClient(app))


def fill(state, feed, lake) -> None:  # noqa: F811
    at = round(NOON.timestamp() * 1000)
    for number in range(3):
        state.memory.put_reading(feed.name, NAME, Reading(at + 10_000 * number, 90 + number, 45.0, None, 200.0, True, 0))
        state.memory.put_anomaly(feed.name, Anomaly(NAME, at + 10_000 * number, 90 + number, 45.0, None, 200.0, 0))
        state.incidents.put(feed.name, of(NAME, at + 10_000 * number, "closed" if number else "opened"))
    world.say(lake, feed, 1, "exclude", NOON, ServiceName=NAME)
    world.say(lake, feed, 2, "exclude", NOON + 30 * STEP)
    for scale in (10.0, 20.0):
        world.promote(lake, feed, {NAME: scale}, days=[1, 2])
    candidate = world.build(lake, feed, scales={NAME: 30.0})
    world.gate_result(lake, feed, "run-1", True, [world.expectation(success=False)], NOON, candidate, compared_with=0)


def test_rows_are_objects_and_tables(state, sundial, feed, lake):  # noqa: F811
    fill(state, feed, lake)
    found = sundial.readings(feed.name, NAME, start=NOON, end=NOON + 2 * STEP)
    assert [(each.at, each.value, each.anomalous) for each in found] == [(NOON + n * STEP, 90 + n, True) for n in range(3)]
    assert (found[-1].value, [each.value for each in found[1:]], len(found)) == (92, [91, 92], 3)
    frame = found.to_pandas()
    assert (str(frame["at"].dtype), frame["value"].tolist()) == ("datetime64[ms, UTC]", [90, 91, 92])
    assert frame["at"][0] == pd.Timestamp(NOON)
    assert found.to_arrow()["value"].to_pylist() == [90, 91, 92]
    with pytest.raises(ImportError, match="pip install polars"):
        found.to_polars()


def test_each_method_answers_what_is_there(state, sundial, feed, lake):  # noqa: F811
    fill(state, feed, lake)
    assert [each.name for each in sundial.feeds()] == [feed.name]
    assert [(each.name, each.value) for each in sundial.services(feed.name)] == [(NAME, 92)]
    assert sundial.newest(feed.name, NAME) == sundial.services(feed.name)[0]
    hour = NOON + dt.timedelta(hours=1)
    assert sum(each.count for each in sundial.series(feed.name, NAME, start=NOON, end=hour, width=10)) == 3
    assert [each.value for each in sundial.anomalies(feed.name, NAME)] == [92, 91, 90]
    (opened,) = sundial.incidents(feed.name, only_open=True)
    assert (opened.service, opened.start_local.isoformat()) == (NAME, "2026-07-01T08:00:00-04:00")
    assert [each.state for each in sundial.all_incidents()] == ["opened", "closed", "closed"]
    assert list(sundial.all_incidents(feed.name, search="ü?", state="open", kind="deviation")) == [opened]
    assert list(sundial.all_incidents(service=NAME, start=NOON, end=NOON + STEP)) == [opened]
    assert [(each.statement, each.service) for each in sundial.statements(feed.name, NAME)] == [(2, None), (1, NAME)]
    assert [each.statement for each in sundial.statements(feed.name, kind="exclude", start=NOON, end=NOON + STEP)] == [1]
    assert [each.version for each in sundial.baseline_versions(feed.name)] == [1, 0]
    assert sundial.baseline(feed.name).in_force == sundial.baseline_versions(feed.name)[0]
    past = sundial.baseline_of(feed.name, NAME, version=0, day_type=2, limit=1)[0]
    assert (past.day_type, past.local_time, past.last4avg) == (2, dt.time(), pytest.approx(world.shape(0, feed.slots, 10.0)))
    assert [(each.day_type, each.pct) for each in sundial.baseline_diff(feed.name, 0, 1)] == [(1, 200.0), (2, 200.0)]
    (judged,) = sundial.gate_results(feed.name)
    changes = sundial.baseline_diff(feed.name, candidate=judged.candidate_version, limit=3)
    assert [(each.day_type, each.pct) for each in changes] == [(1, pytest.approx(300.0)), (2, pytest.approx(300.0)), (3, None)]
    assert [each.pct for each in sundial.baseline_diff(feed.name, before=1, candidate=0, limit=1)] == [pytest.approx(150.0)]
    built = sundial.baseline_of(feed.name, NAME, candidate=0, day_type=3, limit=1)[0]
    assert (built.day_type, built.last4avg, judged.compared_with) == (3, pytest.approx(world.shape(0, feed.slots, 30.0)), 0)
    assert (judged.run_id, judged.expectations[0].observed) == ("run-1", "2 rows at fault")
    (stream,) = sundial.overview().streams
    assert (stream.name, stream.standing, stream.feed.baseline_version, stream.next_step.kind) == (
        feed.name,
        "off",
        1,
        "switch_on",
    )
    assert (len(sundial.streams()), sundial.health().kafka.caught_up) == (0, False)


@pytest.mark.parametrize("url", ["http://LocalHost", "http://127.0.0.1:80", "http://127.0.0.1/moved", "http://127.0.0.1/"])
def test_pages_come_from_any_spelling_of_the_address(app, feed, lake, url):  # noqa: F811
    async def moving(scope, receive, send) -> None:
        _, found, to = scope["path"].partition("/moved/")
        moved = RedirectResponse(f"/{to}?{scope['query_string'].decode()}") if found else app
        await moved(scope | {"server": ("127.0.0.1", 80)}, receive, send)  # a server knows the address, whatever its name

    world.promote(lake, feed, {"a": 10.0}, days=[1, 2])
    assert len(Client(url, http=TestClient(moving)).baseline_of(feed.name, "a")) == 2 * feed.slots


def test_all_pages_come_and_no_more_than_are_asked_for(sundial, feed, lake):  # noqa: F811
    world.promote(lake, feed, {NAME: 10.0}, days=[1, 2])
    slots = [(each["day_type"], each["slot"]) for each in sundial.baseline_of(feed.name, NAME).to_arrow().to_pylist()]
    assert slots == [(day, slot) for day in (1, 2) for slot in range(feed.slots)], "more than one page has"
    assert len(sundial.baseline_of(feed.name, NAME, limit=10_001)) == 10_001
    assert len(sundial.baseline_of(feed.name, NAME, limit=7)) == 7


def test_an_error_names_the_address_and_says_what_the_api_says(sundial, feed):  # noqa: F811
    with pytest.raises(ApiError, match="No feed 'nope' is declared") as refused:
        sundial.services("nope")
    assert str(refused.value).startswith("http://127.0.0.1/api/feeds/nope/services: 404: ")
    assert feed.name in refused.value.remedy
    assert (refused.value.status, refused.value.kind) == (404, "sundial:unknown-feed")
    with pytest.raises(ApiError, match="from before to"):
        sundial.readings(feed.name, NAME, start=NOON)
    with Client("http://127.0.0.1:1") as nowhere, pytest.raises(ApiError, match=r"http://127.0.0.1:1/api/feeds: no answer: "):
        nowhere.feeds()
    between = httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(502, text="<html>Bad gateway</html>")))
    with pytest.raises(ApiError, match=r"/api/feeds: 502: <html>Bad gateway"):
        Client(http=between).feeds()


ARGUMENTS = {
    "feed": "f",
    "query": "q",
    "service": NAME,
    "group": "g",
    "before": 0,
    "after": 1,
    "candidate": 0,
    "version": 0,
    "day_type": 1,
    "limit": 5,
}
METHODS = [name for name, _ in inspect.getmembers(Client, inspect.isfunction) if name[0] != "_" and name != "close"]


@pytest.mark.parametrize("method", METHODS)
def test_each_method_is_as_the_api_is_described(settings, method):
    described, asked = create_app(settings).openapi()["paths"], []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        return httpx.Response(404, json={"type": "t", "detail": "d", "remedy": "r"})

    client = Client(http=httpx.Client(transport=httpx.MockTransport(answer)))
    signature = inspect.signature(getattr(client, method))
    arguments = {name: ARGUMENTS[name] for name in signature.parameters if name in ARGUMENTS}
    with pytest.raises(ApiError):
        list(getattr(client, method)(**arguments) or ())
    (url,) = asked
    raw = url.raw_path.decode().partition("?")[0]
    (path,) = [each for each in described if re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", each), raw)]
    operation = described[path]["get"]
    assert set(url.params) <= {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
    returned = str(inspect.signature(getattr(Client, method)).return_annotation)
    schema = operation["responses"]["200"]["content"].get("application/json", {}).get("schema", {})
    if "Rows[" in returned and schema.get("type") == "array":
        assert schema["items"]["$ref"].rpartition("/")[2] == re.search(r"(\w+)\]$", returned)[1]


@pytest.mark.full  # the server takes seconds to end without a broker
def test_it_reads_rows_and_events_over_a_real_connection(settings, feed, lake):  # noqa: F811
    with served(settings) as (url, state), Client(url) as client:
        fill(state, feed, lake)
        assert [each.value for each in client.anomalies(feed.name)] == [92, 91, 90]
        reading = Reading(round(NOON.timestamp() * 1000), 7, None, None, None, False, -1)
        until("events are open", lambda: state.events._loop is not None)
        heard = client.events(feed.name)
        threading.Timer(1.0, state.events.publish, [[Event(SCORED, feed.name, NAME, reading)]]).start()
        event = next(heard)
        assert (event.kind, event.record.service, event.record.at, event.record.value) == ("scored", NAME, NOON, 7)
        heard.close()
