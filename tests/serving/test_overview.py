"""All streams at a glance: those that never ran, too; what is wrong is first; and what each feed needs next."""

import dataclasses
import datetime as dt

import pytest
from fastapi.testclient import TestClient

from serving.app import create_app
from serving.memory import Reading
from supervision.files import LaunchRecord, StreamFolder, locked, write_launch
from tests.serving import world
from tests.serving.conftest import declare, declare_query

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)


@pytest.fixture
def state(client, monkeypatch):
    """Serving that has read its topics, at NOW."""
    serving = client.app.state.sundial
    serving.live.status.as_of = NOW
    monkeypatch.setattr(type(serving), "now", lambda _: NOW)
    return serving


def streams(client) -> dict[str, dict]:
    """In the order of the answer."""
    answer = client.get("/api/overview")
    assert answer.status_code == 200, answer.text
    return {each["name"]: each for each in answer.json()["streams"]}


def comes(state, feed, ago: float = 5) -> None:
    at = round((NOW - dt.timedelta(seconds=ago)).timestamp() * 1000)
    state.memory.put_reading(feed.name, "a", Reading(at, 10, None, None, None, False, -1))


def archive(lake, feed, dates: int) -> None:
    world.archive(lake, feed, {("a", NOW - dt.timedelta(days=day)): 1 for day in range(1, dates + 1)})


def step(client, feed) -> tuple[str, str]:
    found = streams(client)[feed.name]["next_step"]
    return found["kind"], found["command"]


def test_streams_that_never_ran_are_off_and_a_feed_without_anything_is_unfinished(client, state, feed, offline):
    declare_query(offline.feeds, "places", "calm")
    declare_query(offline.feeds, "routes", "calm")
    found = streams(client)
    assert [(name, each["stream"], each["standing"], each["info"]) for name, each in found.items()] == [
        (feed.name, "score", "unfinished", None),
        ("calm", "queries", "off", None),
        ("incidents", "queries", "off", None),
    ]
    assert (found["calm"]["queries"], found["calm"]["feed"], found["calm"]["next_step"]) == (["places", "routes"], None, None)
    assert (found[feed.name]["description"], found[feed.name]["queries"]) == (feed.description, [])
    assert found[feed.name]["feed"] == {
        "newest_at": None,
        "archived_until": None,
        "archived_dates": 0,
        "first_baseline": {"dates": 0, "needed": 14},
        "baseline_version": None,
        "baseline_as_of": None,
        "promoted_at": None,
        "gate": None,
        "nightly": None,
    }
    assert step(client, feed) == ("load", f"sundial bootstrap {feed.name} --from FILE")


def test_what_is_wrong_is_first_and_is_said(client, state, feed, offline, run_state, drive, lake):
    for name in ("calm", "broken"):
        declare_query(offline.feeds, f"of-{name}", name)
    broken = StreamFolder.of(run_state, "broken", "queries")
    broken.write_supervisor("attempt-1")
    with locked(broken.launch_lock) as lock:
        write_launch(lock, LaunchRecord(7, (NOW - dt.timedelta(minutes=2)).timestamp(), restarts=4))
    broken.write_driver({"pid": 7})
    broken.write_heartbeat(
        {"state": "running", "at": (NOW - dt.timedelta(minutes=1)).isoformat(), "last_error": "no such column"}
    )
    broken.mark_given_up()
    world.promote(lake, feed, {"a": 10.0}, at=NOW.isoformat(), as_of=NOW.date().isoformat())
    drive(NOW, {"baseline_version": 0, "health": {"lag_seconds": 31.0, "lag_records": 9, "dead_letters_per_second": 0.5}})
    comes(state, feed)
    found = streams(client)
    assert [(name, each["standing"]) for name, each in found.items()] == [
        ("broken", "failing"),
        (feed.name, "attention"),
        ("calm", "off"),
        ("incidents", "off"),
    ]
    assert found["broken"]["troubles"] == [
        "Restarting has not helped. It is tried again every five minutes.",
        "driver 7 is gone: see broken.queries/driver.log.",
        "Its drivers die again and again: see the end of driver.log, or the log of its task in Airflow.",
    ]
    info = found["broken"]["info"]
    assert (info["restarts"], info["last_error"], info["state"]) == (4, "no such column", "dead")
    assert dt.datetime.fromisoformat(info["since"]) == NOW - dt.timedelta(minutes=1)
    assert found[feed.name]["troubles"] == [
        "It is more than 30 s behind its topics.",
        "Records come that can't be read: see its dead letters.",
    ]
    assert dt.datetime.fromisoformat(found[feed.name]["info"]["since"]) == NOW


def test_a_stream_that_scores_with_another_baseline_or_an_old_one_needs_attention(client, state, feed, lake, drive):
    at, as_of = (NOW - dt.timedelta(minutes=11)).isoformat(), (NOW - dt.timedelta(days=5)).date()
    world.promote(lake, feed, {"a": 10.0})
    world.promote(lake, feed, {"a": 10.0}, at=at, as_of=as_of.isoformat())
    drive(NOW, {"baseline_version": 0})
    comes(state, feed)
    found = streams(client)[feed.name]
    assert (found["standing"], found["feed"]["baseline_version"], found["feed"]["baseline_as_of"]) == (
        "attention",
        1,
        as_of.isoformat(),
    )
    assert found["troubles"] == [
        "It does not score with v1, the baseline in force. The end of driver.log says why.",
        f"The baseline in force is as of {as_of}. See why no nightly run has promoted another since.",
    ]


def test_tables_that_cannot_be_read_are_repaired_first(client, state, feed, lake):
    world.promote(lake, feed, {"a": 10.0})
    log = lake / "baseline" / feed.table / "_delta_log" / "00000000000000000000.json"
    log.write_text("{")
    found = streams(client)[feed.name]
    assert found["standing"] == "failing"
    assert found["troubles"][0].startswith("Tables of it can't be read: baseline: ")
    assert (found["next_step"]["kind"], found["feed"]["first_baseline"]) == ("repair", None)


@pytest.mark.parametrize(
    ("live", "dates", "kind"),
    [(False, 0, "load"), (True, 0, "collect"), (True, 12, "collect"), (False, 12, "produce"), (True, 14, "build")],
)
def test_what_a_feed_without_a_baseline_needs(client, state, feed, lake, drive, live, dates, kind):
    drive(NOW, {"baseline_version": -1})
    if dates:
        archive(lake, feed, dates)
    if live:
        comes(state, feed)
    found = streams(client)[feed.name]
    assert (found["next_step"]["kind"], found["feed"]["archived_dates"]) == (kind, dates)
    assert found["feed"]["first_baseline"]["dates"] <= dates
    assert kind == "load" or f"{found['feed']['first_baseline']['dates']} of 14 dates" in found["next_step"]["text"]
    assert found["standing"] == ("attention" if kind == "produce" else "unfinished")


def test_a_feed_with_a_baseline_is_decided_on_then_switched_on_then_fed(client, state, feed, lake, drive, run_state):
    recent = {"at": (NOW - dt.timedelta(hours=2)).isoformat(), "as_of": NOW.date().isoformat()}
    world.promote(lake, feed, {"a": 10.0}, **recent)
    assert step(client, feed) == ("switch_on", f"sundial feeds start {feed.name}")
    drive(NOW, {"baseline_version": 0})
    assert step(client, feed) == ("produce", f"sundial replay FILE --feed {feed.name}")
    comes(state, feed)
    assert step(client, feed) == ("none", None)
    assert streams(client)[feed.name]["standing"] == "well"
    world.gate_result(lake, feed, "night-2", False, [world.expectation(success=False)], NOW)
    state.tables.lake.renew()
    found = streams(client)[feed.name]
    assert (found["next_step"]["kind"], found["standing"]) == ("decide", "attention")
    assert found["troubles"] == ["The gate refused candidate v3."]
    assert found["feed"]["gate"] == {
        "candidate_version": 3,
        "checked_at": NOW.isoformat().replace("+00:00", "Z"),
        "success": False,
        "awaits_approval": True,
    }


def test_whether_readings_come_is_not_said_before_the_topics_are_read(client, state, feed, lake, drive):
    world.promote(lake, feed, {"a": 10.0}, as_of=NOW.date().isoformat())
    drive(NOW, {"baseline_version": 0})
    comes(state, feed, ago=3600)
    found = streams(client)[feed.name]
    assert (found["troubles"], found["next_step"]["kind"]) == (["No readings come."], "produce")
    state.live.status.as_of = None
    found = streams(client)[feed.name]
    assert (found["troubles"], found["next_step"]["kind"], found["standing"]) == ([], "none", "well")


def test_a_feed_that_counts_an_access_log_needs_its_lines(client, state, feed, offline):
    log = {"topic": "web.log", "counts": "requests", "service": "host"}
    declare(offline.feeds, feed.model_validate(feed.model_dump() | {"name": "counted", "access_log": log}))
    state.declared.look()
    found = streams(client)["counted"]["next_step"]
    assert (found["kind"], found["command"]) == ("load", "sundial send FILE web.log")
    assert "Start the application web-log" in found["text"]


def test_a_gate_that_no_run_reaches_is_said_while_readings_come(client, state, feed, lake, drive):
    world.promote(lake, feed, {"a": 10.0}, as_of=NOW.date().isoformat())
    world.gate_result(lake, feed, "night-1", True, [], NOW - dt.timedelta(hours=37))
    drive(NOW, {"baseline_version": 0})
    comes(state, feed)
    [trouble] = streams(client)[feed.name]["troubles"]
    assert trouble.startswith("No nightly run has reached the gate for more than 36 hours.")


def test_links_lead_to_airflow_as_browsers_find_it(offline, feed):
    declare_query(offline.feeds, "places", "calm")
    airflow = {"airflow": "http://airflow:8080", "airflow_user": "u", "airflow_password": "p"}
    app = create_app(dataclasses.replace(offline, **airflow, airflow_url="https://airflow.example.org"))
    found = streams(TestClient(app, base_url="http://127.0.0.1"))
    assert found[feed.name]["supervision"] == f"https://airflow.example.org/dags/supervise_streams.{feed.name}"
    assert found[feed.name]["feed"]["nightly"] == f"https://airflow.example.org/dags/nightly_baseline.{feed.name}"
    assert found["calm"]["supervision"] == "https://airflow.example.org/dags/supervise_queries.calm"
