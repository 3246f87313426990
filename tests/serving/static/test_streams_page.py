"""The page of streams in Chromium: what is wrong first, what each feed needs next, and whether the page is up to date."""

import dataclasses
import datetime as dt
import re

import pytest
from playwright.sync_api import expect

import supervision.status
from serving.memory import Reading
from supervision.files import LaunchRecord, StreamFolder, locked, write_launch
from tests.serving import world
from tests.serving.conftest import CHROMIUM, NASTY, declare, declare_query, served
from tests.serving.static.conftest import ms
from tests.serving.static.operator.test_dead_letters import connected
from tests.serving.static.test_accessibility import LOOKS, looked_at, serious
from tests.support import hostile

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
AIRFLOW = "https://airflow.example.org"
HEALTH = {"lag_records": 0, "lag_seconds": 0.0, "input_per_second": 12.5, "dead_letters": 3}


@pytest.fixture
def run(offline, feed, lake, run_state, drive, monkeypatch):
    """Settings of a feed that is well, whose driver counts as reporting however slow the test is, beside an application that was
    given up."""
    monkeypatch.setattr(supervision.status, "STALE_SECONDS", 3600.0)
    now = dt.datetime.now(dt.UTC)
    declare_query(offline.feeds, "places", "z" * 63)
    broken = StreamFolder.of(run_state, "z" * 63, "queries")
    broken.write_supervisor("attempt-1")
    with locked(broken.launch_lock) as lock:
        write_launch(lock, LaunchRecord(7, now.timestamp() - 7200, restarts=5))
    broken.write_driver({"pid": 7})
    broken.write_heartbeat({"state": "running", "at": (now - dt.timedelta(hours=1)).isoformat(), "last_error": NASTY})
    broken.mark_given_up()
    world.promote(lake, feed, {"a": 10.0}, as_of=now.date().isoformat(), at=(now - dt.timedelta(hours=2)).isoformat())
    world.gate_result(lake, feed, "night-1", True, [], now - dt.timedelta(hours=3))
    world.archive(lake, feed, {("a", now - dt.timedelta(days=1)): 1})
    drive(now - dt.timedelta(minutes=5), {"baseline_version": 0, "at": now.isoformat(), "health": HEALTH})
    return dataclasses.replace(offline, airflow_url=AIRFLOW, spark_history="http://127.0.0.1:18080")


def heartbeats(run_state, feed, **more) -> None:
    """The driver reports once more."""
    stream = StreamFolder.of(run_state, feed.name, "score")
    stream.write_heartbeat(stream.read_heartbeat() | {"at": dt.datetime.now(dt.UTC).isoformat()} | more)


def read(state, feed) -> None:
    """Serving has read a reading of just now, and its topics."""
    now = dt.datetime.now(dt.UTC)
    state.live.status.as_of = now
    state.memory.put_reading(feed.name, "a", Reading(ms(now), 10, 10.0, 1.0, 100.0, False, 0))


def fact(row, name: str):
    return row.locator(f'[data-fact="{name}"]')


@LOOKS
def test_each_stream_is_in_words_with_its_figures_and_links_and_what_fails_is_first(
    page, run, feed, run_state, lake, scheme, width
):
    looked_at(page, scheme, width)
    with served(run) as (url, state):
        read(state, feed)
        page.goto(f"{url}/streams")
        rows = page.locator("#streams > li")
        expect(rows.locator("h3")).to_have_text(["z" * 63, feed.name, "incidents"])
        expect(rows.locator(".pill")).to_have_text(["failing", "well", "off"])
        expect(page.locator("#headline")).to_have_text("1 of 3 streams needs attention")
        assert page.evaluate("document.title") == "(1) Streams · Sundial"
        expect(page.get_by_role("navigation").get_by_role("link", name="Streams")).to_have_attribute("aria-current", "page")
        broken, well, off = (rows.nth(place) for place in range(3))
        expect(broken.locator(".state")).to_have_text(re.compile(r"^Its driver is gone since .+ UTC \(1 h\)\.$"))
        expect(broken.locator(".trouble")).to_have_text(
            ["Restarting has not helped. It is tried again every five minutes.", re.compile("^driver 7 is gone: see z+.queries/")]
        )
        expect(fact(broken, "Restarts")).to_have_text("5, the last 2 h ago")
        expect(fact(broken, "Last error")).to_have_text(NASTY)
        expect(fact(broken, "Lag")).to_have_count(0)
        expect(well.locator(".state")).to_have_text(re.compile(r"^Runs since .+ UTC \([56] min\)\.$"))
        expect(fact(well, "Lag")).to_have_text("none")
        expect(fact(well, "Readings a second")).to_have_text("12.5")
        expect(fact(well, "Dead letters")).to_have_text(re.compile("^3 since .+ UTC$"))
        expect(fact(well, "Baseline in use")).to_have_text("v0, in force")
        expect(fact(well, "Restarts")).to_have_text("0")
        expect(fact(well, "Heartbeat")).to_have_text(re.compile(r"^\d+ (s|min) ago$"))
        expect(fact(well, "Nightly job")).to_have_text("candidate v3 passed the gate 3 h ago")
        expect(fact(well, "History")).to_have_text(re.compile(r"^1 date, until \d{4}-\d\d-\d\d$"))
        expect(well.locator(".next")).to_have_text("Next: Nothing: it is scored.")
        expect(off.locator(".state")).to_have_text("It has never run.")
        expect(off.locator(".next")).to_have_count(0)
        addresses = [link.get_attribute("href") for link in well.get_by_role("link").all()]
        assert addresses == [
            f"/?feed={feed.name}",
            f"/?feed={feed.name}#letters-card",
            f"/baselines?feed={feed.name}",
            f"{AIRFLOW}/dags/supervise_streams.{feed.name}",
            f"{AIRFLOW}/dags/nightly_baseline.{feed.name}",
            "http://127.0.0.1:18080/history/local-1/",
        ]
        assert [link.get_attribute("href") for link in broken.get_by_role("link").all()][:2] == [
            "/queries?query=places",
            f"{AIRFLOW}/dags/supervise_queries.{'z' * 63}",
        ]
        expect(page.get_by_role("button", name="Switch")).to_have_count(0)
        expect(page.locator("header .login")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert serious(page) == []
        heartbeats(run_state, feed, baseline_version=-1, health=HEALTH | {"lag_records": 1234, "lag_seconds": 40.0})
        expect(well.locator(".trouble").first).to_have_text("It is more than 30 s behind its topics.", timeout=20_000)
        expect(fact(well, "Lag")).to_have_text("1,234 waiting, the oldest 40 s")
        expect(fact(well, "Baseline in use")).to_have_text("none; in force: v0")
        expect(well.locator(".pill")).to_have_text("needs attention")
        assert serious(page) == []
        world.gate_result(lake, feed, "night-2", False, [world.expectation(success=False)], dt.datetime.now(dt.UTC))
        expect(well.locator(".next")).to_contain_text("The gate refused candidate v3.", timeout=20_000)
        well.get_by_role("link", name="See the gate's result").click()
        expect(page.locator("#gate .pill").first).to_have_text("refused")


def test_without_an_address_of_airflow_there_is_no_link_to_it(page, offline, feed):
    with served(offline) as (url, _):
        page.goto(f"{url}/streams")
        expect(page.locator("#streams-loading")).to_be_hidden()
        expect(page.locator("#headline")).to_have_text("Nothing is wrong: 1 stream")
        row = page.locator("#streams > li").first
        expect(row.locator(".next code")).to_have_text(f"sundial bootstrap {feed.name} --from FILE")
        expect(row.locator(".pill")).to_have_text("unfinished")
        assert [link.get_attribute("href") for link in row.get_by_role("link").all()] == [
            f"/?feed={feed.name}",
            f"/?feed={feed.name}#letters-card",
            f"/baselines?feed={feed.name}",
        ]


def test_a_driver_that_does_not_report_has_no_present_figures(page, offline, feed, drive):
    drive(dt.datetime.now(dt.UTC) - dt.timedelta(minutes=2), {"health": HEALTH})
    with served(offline) as (url, _):
        page.goto(f"{url}/streams")
        row = page.locator("#streams > li").first
        expect(row.locator(".pill")).to_have_text("failing")
        expect(row.locator(".state")).to_have_text(re.compile(r"^Does not report since .+ UTC \(\d min\)\.$"))
        expect(row.locator(".trouble")).to_have_text(re.compile(r"^driver \d+ lives but has not reported for \d+ s: see "))
        expect(row.locator(".next")).to_have_text("Next: First repair what is named above.")
        expect(fact(row, "Heartbeat")).to_have_text(re.compile(r"^\d min ago$"))
        for name in ("Lag", "Readings a second", "Dead letters", "Baseline in use"):
            expect(fact(row, name)).to_have_count(0)


def test_the_link_to_dead_letters_leads_to_them(page, offline, feed):
    letter = {"feed": feed.name, "partition": 1, "offset": 42, "key": "a", "size": 3, "begins": "00ff"}
    connected(page, [letter | {"at": "2026-07-01T12:00:02Z", "reason": "no such schema"}])
    with served(offline) as (url, _):
        page.set_viewport_size({"width": 360, "height": 500})
        page.goto(f"{url}/streams")
        page.get_by_role("link", name="Dead letters").first.click()
        expect(page.locator("#letters")).to_contain_text("no such schema")
        expect(page.locator("#letters-title")).to_be_in_viewport()
        page.unroute_all(behavior="ignoreErrors")


def test_a_page_that_cannot_load_says_so_as_of_when_it_is_and_goes_on(page, offline, feed):
    with served(offline) as (url, _):
        page.clock.install()
        page.goto(f"{url}/streams")
        expect(page.locator("#streams > li")).to_have_count(1)
        expect(page.locator("#as-of")).to_be_hidden()
        broken = {"detail": "It broke.", "remedy": "See its log."}
        page.route(re.compile("/api/overview|/health"), lambda route: route.fulfill(status=500, json=broken))
        page.clock.run_for(25_000)
        expect(page.locator("#problem")).to_contain_text("It broke. See its log.")
        expect(page.locator("#connection")).to_have_text("Not all is loaded")
        expect(page.locator("#as-of")).to_have_text(re.compile(r"^As of .+ UTC\.$"))
        expect(page.locator("#streams > li")).to_have_count(1)
        page.unroute_all(behavior="ignoreErrors")
        page.clock.run_for(25_000)
        expect(page.locator("#as-of")).to_be_hidden(timeout=20_000)
        expect(page.locator("#problem")).not_to_contain_text("It broke.")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=name, marks=() if name in ("markup", "long") else pytest.mark.full)
        for name, text in hostile.TEXTS.items()
    ],
)
def test_every_field_of_the_page_is_text(page, offline, feed, drive, text):
    declare(offline.feeds, feed.model_copy(update={"description": text}))
    drive(dt.datetime.now(dt.UTC), {"last_error": text, "health": {"lag_records": text}})
    with served(offline) as (url, _):
        page.set_viewport_size({"width": 360, "height": 740})
        page.goto(f"{url}/streams")
        row = page.locator("#streams > li").first
        expect(fact(row, "Last error")).to_contain_text(" ".join(text.split()), use_inner_text=False)
        expect(row.locator(".quiet").nth(1)).to_contain_text(" ".join(text.split()), use_inner_text=False)
        assert page.locator("main img, main script, main b, main textarea, main iframe, main [onmouseover]").count() == 0
        assert page.evaluate("document.title.endsWith('Streams · Sundial')")
        assert page.evaluate("document.documentElement.scrollWidth") == 360, "nothing is pushed off the page"
