"""The page says beside an incident what a person said of it; nothing follows Kafka here."""

import datetime as dt

from playwright.sync_api import expect

from tests.serving import world
from tests.serving.conftest import NASTY, served
from tests.serving.test_incidents import of


def test_an_incident_that_was_none_is_shown_so_with_who_when_and_why(page, offline, feed, lake):
    at = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
    start = round(at.timestamp() * 1000)
    world.promote(lake, feed, {"a": 10.0})
    world.say(lake, feed, 1, "exclude", at, ServiceName="b", Reason="load test")
    world.say(lake, feed, 2, "false", IncidentId=f"c@{start}", By=NASTY, Reason=NASTY)
    with served(offline) as (url, state):
        for service in ("a", "b", "c"):
            state.incidents.put(feed.name, of(service, start))
        page.goto(f"{url}/?feed={feed.name}&service=a")
        rows = page.locator("#incidents li")
        expect(rows).to_have_count(3)
        expect(rows.filter(has_text="Left out of the normal")).to_have_count(1)
        said = page.locator("#incidents li p.verdict")
        expect(said).to_have_count(2)
        expect(said.nth(0)).to_have_text("Left out of the normal, says mara (21 Nov 2026, 04:30:00): load test")
        expect(said.nth(1)).to_have_text(f"False alarm, says {NASTY} (21 Nov 2026, 04:30:00): {NASTY}")
        assert page.title() != "owned"
