"""Everybody sees a feed's dead letters; an operator replays them."""

from playwright.sync_api import Page, expect

from tests.serving.conftest import NASTY
from tests.serving.static.operator.dialogs import log_in


def test_dead_letters_are_shown_by_reason_and_an_operator_replays_them(page, site, feed, airflow):
    url, operator, _ = site
    letter = {"feed": feed.name, "partition": 1, "offset": 42, "key": NASTY, "size": 300, "begins": "00ff"}
    letters = [
        letter | {"at": "2026-07-01T12:00:02Z", "reason": f"unknown schema id 8: {NASTY}", "key": None, "offset": None},
        letter | {"at": "2026-07-01T12:00:01Z", "reason": "negative reading -5"},
        letter | {"at": "2026-07-01T12:00:00Z", "reason": f"unknown schema id 17: {NASTY}"},
    ]
    connected(page, letters)
    page.goto(url)
    rows = page.locator("#letters > li")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text(f"unknown schema id 8: {NASTY}")
    expect(rows.nth(0).locator("strong").first).to_have_text("2")
    rows.nth(0).get_by_text("The newest").click()
    expect(rows.nth(0).locator(".facts")).to_have_text("Recordof an unknown placeKeynoneBytes300Begins with00 ff")
    rows.nth(1).get_by_text("The newest").click()
    expect(rows.nth(1).locator(".facts")).to_contain_text(f"partition 1, offset 42Key{NASTY}Bytes")
    expect(page.get_by_role("button", name="Replay")).to_have_count(0)
    log_in(page, operator)
    page.get_by_role("button", name="Replay what can be read now").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"goes back to the topic of {feed.name}")
    page.get_by_role("dialog").get_by_role("button", name="Replay").click()
    expect(page.get_by_role("dialog")).to_be_hidden(timeout=20_000)
    [(dag, conf)] = airflow.came
    assert (dag, conf) == ("replay_dead_letters", {"topic": feed.topic, "send": True, "reason": "", "user": "olga"})
    page.unroute_all(behavior="ignoreErrors")


def connected(page: Page, letters: list[dict]) -> None:
    """As if Kafka answered, with these dead letters."""

    def healthy(route):
        answer = route.fetch(max_retries=2)
        body = answer.json()
        body["kafka"]["state"] = "connected"
        route.fulfill(response=answer, json=body)

    page.route("**/health", healthy)
    page.route("**/dead-letters", lambda route: route.fulfill(json=letters))
