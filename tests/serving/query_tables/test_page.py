"""The page of queries' tables, in Chromium, over a real broker."""

import pytest
from playwright.sync_api import expect

from tests.serving.conftest import NASTY
from tests.serving.static.test_accessibility import serious


@pytest.mark.full
def test_a_table_is_searched_and_followed(page, ask, places):
    for name in ("a", "a/1", "b", NASTY):
        places.send(places.avro, name, f"at {name}")
    page.goto(f"{ask.url}/queries")
    expect(page.locator("#query")).to_have_value(places.name)
    page.locator("#topic").select_option(places.avro)
    rows = page.locator("#rows tbody tr")
    expect(rows).to_have_count(4)
    expect(page.locator("#rows thead th")).to_have_text(["Key", "User", "Place", "At", "Kafka took it at (UTC)"])
    expect(rows.nth(0).locator(".key")).to_have_text(NASTY)
    expect(rows.nth(1)).to_contain_text("at a")
    page.get_by_label("Key begins with").fill("a")
    expect(rows.locator(".key")).to_have_text(["a", "a/1"])
    expect(page).to_have_url(f"{ask.url}/queries?query={places.name}&topic={places.avro}&prefix=a")
    places.send(places.avro, "a/1", "elsewhere")
    expect(rows.nth(1)).to_contain_text("elsewhere")
    expect(rows.nth(1)).to_have_class("new")
    places.send(places.avro, "a", None)
    expect(rows.locator(".key")).to_have_text(["a/1"])
    page.reload()
    expect(rows.locator(".key")).to_have_text(["a/1"])
    expect(page.locator("#offsets")).to_contain_text(f"{places.avro}, read up to offset 0: ")
    expect(page.locator("#connection")).to_have_text("Live")
    assert serious(page) == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.title() == f"{places.name} · Sundial"


@pytest.mark.full
def test_more_rows_are_shown_when_asked_for(page, ask, places):
    for number in range(120):
        places.send(places.json, f"{number:03d}", "x")
    page.goto(f"{ask.url}/queries?query={places.name}&topic={places.json}")
    rows = page.locator("#rows tbody tr")
    expect(rows).to_have_count(100)
    page.get_by_role("button", name="Show more rows").click()
    expect(rows).to_have_count(120)
    expect(page.get_by_role("button", name="Show more rows")).to_be_hidden()
    page.get_by_label("Key begins with").fill("zz")
    expect(page.locator("#rows-empty")).to_have_text("No key begins with this text.")


@pytest.mark.full
def test_what_fails_is_said_and_tried_again(page, ask, places):
    places.delete()
    page.goto(f"{ask.url}/queries?query={places.name}&topic={places.avro}")
    expect(page.locator("#problem")).to_contain_text(f"Kafka has no topic {places.avro}")
    expect(page.locator("#connection")).to_have_text("Not all is loaded")
    page.locator("#topic").select_option(places.json)
    expect(page.locator("#problem")).to_contain_text(f"Kafka has no topic {places.json}")
    page.locator("#topic").select_option(places.avro)
    places.recreate()
    places.send(places.avro, "a", "here")
    expect(page.locator("#rows tbody tr")).to_have_count(1, timeout=40_000)
    expect(page.locator("#problem")).not_to_contain_text("Kafka has no topic")
