"""All feeds and services at a glance: what is said of each, in which order, and the sparklines."""

import datetime as dt
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from contracts.feeds import Feed, Rule
from contracts.gate import Gate
from contracts.incidents import Incidents
from contracts.public_holidays import Holidays
from serving.app import create_app
from serving.fleet import RANKS, first_baseline, patience_of, sparkline, status
from serving.memory import Reading
from serving.scored import Series
from tests.serving import world
from tests.serving.conftest import NASTY, declare, problem
from tests.serving.test_incidents import of
from tests.support import hostile

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
START = round(NOW.timestamp()) // 10 * 10_000  # of the interval in which now lies, epoch milliseconds
KEPT = ("status", "since", "value")


def ago(intervals: int) -> int:
    return START - 10_000 * intervals


def iso(at: int) -> str:
    return dt.datetime.fromtimestamp(at / 1000, dt.UTC).isoformat().replace("+00:00", "Z")


def reading(at: int, value: int = 100, anomalous: bool = False, expected: float | None = 100.0) -> Reading:
    pct = 100 * value / expected if expected else None
    return Reading(at, value, expected, None if expected is None else 2.0, pct, anomalous, 1)


@pytest.fixture
def state(client, monkeypatch):
    """Serving that has read its topics, at NOW."""
    serving = client.app.state.sundial
    serving.live.status.as_of = NOW
    monkeypatch.setattr(type(serving), "now", lambda _: NOW)
    return serving


def services(client, query: str = "") -> dict[str, dict]:
    """In the order of the answer."""
    return {each["name"]: each for each in client.get(f"/api/fleet{query}").json()["services"]}


def test_each_service_has_its_status_since_when_and_the_worst_are_first(client, state, feed, lake):
    world.promote(lake, feed, dict.fromkeys(("never heard", "normal", "another"), 100.0))
    state.lake_watch.look()
    put = {
        "normal": [reading(ago(2)), reading(ago(1))],
        "another": [reading(ago(3), 400, True), reading(ago(1))],
        "flagged": [reading(ago(5), 200, True), reading(ago(4)), *(reading(ago(i), 300, True) for i in (3, 2, 1))],
        "flagged now": [reading(ago(2)), reading(ago(1), 0, True)],
        "silent": [reading(ago(30))],
        "new": [reading(ago(1), 7, expected=None)],
        "too high": [reading(ago(1), 200, True)],
    }
    for name, readings in put.items():
        for each in readings:
            state.memory.put_reading(feed.name, name, each)
    state.incidents.put(feed.name, of("too high", ago(90)))
    state.incidents.put(feed.name, of("too high", ago(60)))
    state.incidents.put(feed.name, of("normal", ago(60), "closed"))
    state.incidents.put(feed.name, replace(of("only an incident", ago(500)), kind="silence"))
    found = services(client)
    assert [(name, *(each[field] for field in KEPT)) for name, each in found.items()] == [
        ("too high", "incident", iso(ago(60)), 200),
        ("only an incident", "incident", iso(ago(500)), None),
        ("flagged now", "anomalous", iso(ago(1)), 0),
        ("flagged", "anomalous", iso(ago(3)), 300),
        ("silent", "silent", iso(ago(29)), 100),
        ("never heard", "silent", None, None),
        ("new", "no_baseline", None, 7),
        ("another", "normal", None, 100),
        ("normal", "normal", None, 100),
    ]
    assert (found["too high"]["incident"]["start"], found["only an incident"]["incident"]["kind"]) == (iso(ago(60)), "silence")
    assert found["only an incident"]["name"] in [each["name"] for each in client.get(f"/api/feeds/{feed.name}/services").json()]
    assert client.get(f"/api/feeds/{feed.name}/services/only%20an%20incident/series").status_code == 200


def test_a_sparkline_has_each_reading_in_its_interval_and_the_rules_band(client, state, feed):
    for at, value, flagged in ((ago(70), 1, False), (ago(9), 90, False), (ago(3), 200, True), (ago(1), 0, True)):
        state.memory.put_reading(feed.name, "a", reading(at, value, flagged))
    state.memory.put_reading(feed.name, "b", reading(ago(0), 123456, expected=1234.5))
    body = client.get("/api/fleet?points=10").json()
    (its,) = body["feeds"]
    assert (its["name"], its["start"], its["newest_at"]) == (feed.name, iso(ago(9)), iso(ago(0)))
    a = services(client, "?points=10")["a"]
    assert a["values"] == [90, None, None, None, None, None, 200, None, 0, None]
    assert a["low"] == [88, None, None, None, None, None, 88, None, 88, None]
    assert a["high"] == [112, None, None, None, None, None, 112, None, 112, None]
    assert a["flagged"] == [6, 8]
    b = services(client, "?points=2")["b"]
    assert (b["values"], b["low"], b["high"]) == ([None, 123456], [None, 1170], [None, 1300])  # three digits
    assert services(client, "?points=0")["a"] == a | {"values": [], "low": [], "high": [], "flagged": []}
    assert len(services(client)["a"]["values"]) == 60
    assert "points" in problem(client.get("/api/fleet?points=121"), 422, "invalid-parameter")["detail"]


def test_a_reading_whose_time_lies_ahead_moves_no_sparkline_away(client, state, feed):
    state.memory.put_reading(feed.name, "a", reading(ago(1)))
    state.memory.put_reading(feed.name, "b", reading(ago(-5000)))
    assert [each for each in services(client)["a"]["values"] if each is not None] == [100]


def test_a_feed_of_the_past_is_silent_and_its_sparklines_end_with_it(client, state, feed):
    state.memory.put_reading(feed.name, "a", reading(ago(90_000), 5, expected=None))
    found = services(client, "?points=3")["a"]
    assert (found["status"], found["since"], found["values"]) == ("silent", iso(ago(89_999)), [None, None, 5])


def test_before_the_topics_are_read_nothing_is_called_silent(client, state, feed, lake):
    world.promote(lake, feed, {"never heard": 100.0})
    state.lake_watch.look()
    state.live.status.as_of = None
    state.memory.put_reading(feed.name, "a", reading(ago(30)))
    assert {name: each["status"] for name, each in services(client).items()} == {"never heard": "unknown", "a": "normal"}
    assert client.get("/api/fleet").json()["as_of"] is None


def test_a_service_without_room_is_unknown_not_silent(offline, feed, lake):
    app = create_app(replace(offline, services_per_feed=1))
    world.promote(lake, feed, {"a": 1.0, "b": 1.0})
    app.state.sundial.lake_watch.look()
    app.state.sundial.live.status.as_of = NOW
    for name in ("a", "b"):
        app.state.sundial.memory.put_reading(feed.name, name, reading(ago(1)))
    found = services(TestClient(app, base_url="http://127.0.0.1"))
    assert {name: each["status"] for name, each in found.items()} == {"a": "normal", "b": "unknown"}


def test_silence_is_what_the_feed_declares_and_a_retired_service_may_be(offline, feed):
    rule = Incidents.model_validate(
        {"silence": 6, "retired": ["gone-.*"], "overrides": [{"services": "slow", "rule": {"silence": 20}}]}
    )
    declare(offline.feeds, feed.model_copy(update={"incidents": rule}))
    app = create_app(offline)
    client, state = TestClient(app, base_url="http://127.0.0.1"), app.state.sundial
    state.live.status.as_of = dt.datetime.fromtimestamp(START / 1000, dt.UTC)
    for name, at in {"a": 7, "b": 8, "slow": 21, "slower": 21, "gone-1": 30, "gone-2": 1}.items():
        state.memory.put_reading(feed.name, name, reading(ago(at)))
    assert {name: each["status"] for name, each in services(client).items()} == {
        "b": "silent",
        "slower": "silent",
        "a": "normal",
        "slow": "normal",
        "gone-2": "normal",
    }


def test_members_carry_their_group_and_the_group_stands_beside_them(client, state, feed):
    group = replace(of("*", ago(50)), kind="group", services=2, members=[f"a@{ago(50)}", f"b@{ago(49)}"])
    for each in (group, of("a", ago(50), group=group.id), of("b", ago(49), group=group.id), of("c", ago(20), "closed", group.id)):
        state.incidents.put(feed.name, each)
    body = client.get("/api/fleet").json()
    assert [(each["name"], each["status"], each["incident"]["group"]) for each in body["services"]] == [
        ("b", "incident", group.id),
        ("a", "incident", group.id),
    ]
    assert [(each["id"], each["members"]) for each in body["groups"]] == [(group.id, group.members)]


def test_a_feed_that_only_history_knows_has_its_services_and_their_newest_readings(client, state, feed, lake):
    at = lambda back: dt.datetime.fromtimestamp(ago(back) / 1000, dt.UTC)  # noqa: E731
    days = dt.timedelta(days=5)
    kept = {("a", at(8640 + 3)): 1, ("a", at(8640 + 1)): 2, ("b", at(8640 + 2)): 3, ("b", at(8640 + 500)): 4}
    world.archive(lake, feed, kept | {("quiet", at(8640 + 300)): 5, ("gone", at(8640) - days): 6, ("b", at(0) - days): 7})
    body = client.get("/api/fleet?points=3").json()
    assert (body["feeds"][0]["newest_at"], body["feeds"][0]["start"]) == (iso(ago(8641)), iso(ago(8643)))
    found = {each["name"]: each for each in body["services"]}
    assert {name: (each["status"], each["since"], each["at"], each["value"], each["values"]) for name, each in found.items()} == {
        "a": ("silent", iso(ago(8640)), iso(ago(8641)), 2, [1, None, 2]),
        "b": ("silent", iso(ago(8641)), iso(ago(8642)), 3, [None, 3, None]),
        "quiet": ("silent", None, None, None, [None] * 3),
    }, "who is gone for days is not listed"
    unjudged = {"low": [None] * 3, "high": [None] * 3, "flagged": [], "expected": None}
    assert {field: found["a"][field] for field in unjudged} == unjudged
    state.live.status.as_of = None
    assert {each["status"] for each in client.get("/api/fleet").json()["services"]} == {"unknown"}


def test_a_sparkline_joins_history_and_the_stream(client, state, feed, lake):
    at = lambda back: dt.datetime.fromtimestamp(ago(back) / 1000, dt.UTC)  # noqa: E731
    world.archive(lake, feed, {("a", at(back)): back for back in (5, 4, 3)})
    state.memory.put_reading(feed.name, "a", reading(ago(3), 33))
    state.memory.put_reading(feed.name, "a", reading(ago(1), 11))
    a = services(client, "?points=5")["a"]
    assert (a["status"], a["values"]) == ("normal", [5, 4, 33, None, 11])
    assert a["low"] == [None, None, 88, None, 88]


def test_an_incident_that_a_person_called_none_is_none(client, state, feed, lake):
    for name in ("a", "b"):
        state.memory.put_reading(feed.name, name, reading(ago(1)))
        state.incidents.put(feed.name, of(name, ago(9)))
    world.say(lake, feed, 1, "false", IncidentId=f"a@{ago(9)}")
    world.say(lake, feed, 2, "exclude", IncidentId=f"b@{ago(9)}")
    found = services(client)
    assert [(name, each["status"]) for name, each in found.items()] == [("b", "incident"), ("a", "normal")]
    assert found["a"]["incident"] is None


def test_a_feed_without_a_baseline_says_how_far_its_history_is(client, state, feed, lake):
    state.memory.put_reading(feed.name, "a", reading(ago(1), expected=None))
    (before,) = client.get("/api/fleet").json()["feeds"]
    assert before["first_baseline"] == {"dates": 0, "needed": 14}
    noon = NOW.astimezone(feed.zone).replace(hour=12)
    world.archive(lake, feed, {("a", noon - dt.timedelta(days=back)): 5 for back in (1, 2, 8, 15, 22)})
    state.tables.lake.renew()
    (after,) = client.get("/api/fleet").json()["feeds"]
    assert after["first_baseline"] == {"dates": 3, "needed": 14}  # of one weekday two count
    world.promote(lake, feed, {"a": 1.0})
    state.tables.lake.renew()
    state.lake_watch.look()
    (promoted,) = client.get("/api/fleet").json()["feeds"]
    assert promoted["first_baseline"] is None


def test_a_history_that_cannot_be_read_hides_no_service(client, state, feed, lake):
    state.memory.put_reading(feed.name, "a", reading(ago(1), expected=None))
    log = lake / "history" / feed.table / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("no log")
    assert [each["name"] for each in client.get("/api/fleet").json()["services"]] == ["a"]
    assert client.get("/api/fleet").json()["feeds"][0]["first_baseline"] is None


@given(
    behind=st.integers(0, 200),
    reads=st.booleans(),
    known=st.booleans(),
    flagged=st.booleans(),
    expected=st.none() | st.floats(0, 9),
    has_room=st.booleans(),
)
def test_a_status_is_one_of_those_there_are_and_tells_the_truth(behind, reads, known, flagged, expected, has_room):
    as_of = NOW if reads else None
    its = reading(round(NOW.timestamp() * 1000) - 1000 * behind, 5, flagged, expected) if known else None
    found = status(its, None, as_of, 40_000, has_room)
    assert found in RANKS
    assert (found == "silent") == (reads and (behind > 40 if known else has_room))
    assert (found == "unknown") == (not known and not (reads and has_room))
    if found in ("normal", "no_baseline", "anomalous"):
        assert (found == "anomalous", found == "no_baseline") == (flagged, not flagged and expected is None)


@given(st.sets(st.integers(-30, 90)), st.integers(0, 60))
def test_a_sparkline_has_what_lies_in_its_intervals_and_nothing_else(places, points):
    feed = Feed(name="f", description="d", record="service_use_record", rule=Rule(percent=5))
    since = START // 10_000 * 10_000
    series = Series(len(places))
    for place in places:
        series.put(reading(START + 10_000 * place + 3000, 1000 + place, place % 2 == 0))
    found = sparkline(feed, series.scored(0, 2 * START), since, points)
    assert found["values"] == [1000 + place if place in places else None for place in range(points)]
    assert found["low"] == [95 if place in places else None for place in range(points)]
    assert found["flagged"] == [place for place in range(points) if place in places and place % 2 == 0]


def test_patience_counts_the_readings_own_interval():
    rule = Incidents.model_validate({"overrides": [{"services": "a", "rule": {"silence": 5}}]})
    assert [patience_of(rule, 10)(name) for name in ("a", "ab", "a\nb")] == [60_000, 40_000, 40_000]


def test_a_first_baseline_counts_two_dates_of_each_day_type_and_holidays_as_sundays():
    feed = Feed(name="f", description="d", record="service_use_record", holidays=Holidays(country="US"))
    fourth = dt.date(2026, 7, 3)  # a Friday, the day on which Independence Day is observed
    days = frozenset({fourth, dt.date(2026, 7, 5), dt.date(2026, 7, 10), dt.date(2026, 1, 2)})
    assert first_baseline(feed, days, dt.date(2026, 7, 12)).model_dump() == {"dates": 3, "needed": 14}
    small = feed.model_copy(update={"gate": Gate(day_types=1)})
    assert first_baseline(small, days, dt.date(2026, 7, 12)).model_dump() == {"dates": 2, "needed": 2}


def test_names_that_mean_harm_are_carried_as_they_are(client, state, feed):
    names = [NASTY, *hostile.TEXTS.values()]
    for name in names:
        state.memory.put_reading(feed.name, name, reading(ago(1)))
    answer = client.get("/api/fleet")
    assert answer.headers["content-type"] == "application/json"
    assert [each["name"] for each in answer.json()["services"]] == sorted(names)


def test_a_long_answer_is_compressed_for_those_who_take_it(client, state, feed):
    for number in range(50):
        state.memory.put_reading(feed.name, f"service-{number}", reading(ago(1)))
    packed, plain = (client.get("/api/fleet", headers={"Accept-Encoding": each}) for each in ("gzip", "identity"))
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json()["services"] == plain.json()["services"]
    assert int(packed.headers["content-length"]) < len(plain.content) / 10
