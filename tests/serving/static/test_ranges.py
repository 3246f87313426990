"""The page shows any part of time: ranges up to five weeks, and what a person drags over or reaches by keys."""

import datetime as dt
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from contracts.feeds import Feed
from tests.serving import world
from tests.serving.conftest import CHROMIUM, ON_A_PHONE_TOO, declare, served
from tests.serving.static.conftest import drawn
from tests.serving.static.fingers import tap_twice, zoom_in
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
DRAWN = "Date.parse(sundial.chart.series?.end) === Date.parse(new URLSearchParams(location.search).get('to'))"
HOUR = dt.timedelta(hours=1)


@pytest.fixture
def last() -> dt.datetime:
    """The hour before the last one, when the newest reading of history was."""
    return dt.datetime.now(dt.UTC).replace(minute=0, second=0, microsecond=0) - HOUR


@pytest.fixture
def archived(offline, feed: Feed, lake, last):
    """A site whose history has five weeks of one service, a reading an hour, one of them a spike; no stream, no baseline."""
    rows = {("a", last - number * HOUR): 100 for number in range(35 * 24)} | {("a", last - 400 * HOUR): 9000}
    world.archive(lake, feed, rows)
    with served(offline) as (url, _):
        yield f"{url}/?feed={feed.name}&service=a"


def asked(page: Page) -> dict[str, str]:
    """The parameters of the page's address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def length(page: Page) -> float:
    """Of the span in the page's address, in hours; 0 where it has none."""
    span = asked(page)
    if "from" not in span:
        return 0
    return (dt.datetime.fromisoformat(span["to"]) - dt.datetime.fromisoformat(span["from"])) / HOUR


@ON_A_PHONE_TOO
def test_five_weeks_show_every_spike_before_there_is_a_baseline_and_a_hand_zooms_in(page, archived, last):
    page.goto(f"{archived}&minutes=60")
    expect(page.locator("#figures")).to_contain_text("100")  # the newest hour of a feed that has no stream
    page.locator("#window").select_option("50400")
    until("five weeks are drawn", lambda: (seconds := drawn(page)[0]) and seconds[-1] - seconds[0] > 34 * 86_400)
    highest = page.evaluate("Math.max(...sundial.chart.data[7])")
    assert highest == 9000
    expect(page.locator("#key-range")).to_be_visible()
    expect(page.locator("#loading")).to_be_visible()
    assert asked(page)["minutes"] == "50400"
    seconds = drawn(page)[0]
    spike = (last - 400 * HOUR).timestamp()
    zoom_in(page, page.evaluate("(at) => sundial.chart.plot.valToPos(at, 'x')", spike))
    until("the span is drawn", lambda: 0 < drawn(page)[0][-1] - drawn(page)[0][0] < 4 * 86_400)
    assert drawn(page)[0][0] < spike < drawn(page)[0][-1]
    assert page.evaluate("Math.max(...sundial.chart.data[7])") == 9000
    zoomed = length(page)
    assert 24 < zoomed < 96
    page.reload()
    until("the same span is drawn", lambda: length(page) == zoomed and 0 < drawn(page)[0][-1] - drawn(page)[0][0] < 4 * 86_400)
    tap_twice(page)
    until("the range is drawn", lambda: drawn(page)[0][-1] - drawn(page)[0][0] > 34 * 86_400)
    assert (length(page), asked(page)["minutes"], drawn(page)[0][1] - drawn(page)[0][0]) == (0, "50400", seconds[1] - seconds[0])


@pytest.mark.full
def test_keys_move_and_zoom_and_the_way_back_is_the_browsers(page, archived):
    page.goto(f"{archived}&minutes=1440&from=2026-06-01T00:00:00Z&to=2026-06-01T08:00:00Z")
    expect(page.locator("#instant-text")).to_have_text("31 May 2026, 20:00:00 to 01 Jun 2026, 04:00:00.")
    for key, text in (
        ("ArrowLeft", "31 May 2026, 18:00:00 to 01 Jun 2026, 02:00:00."),
        ("ArrowRight", "31 May 2026, 20:00:00 to 01 Jun 2026, 04:00:00."),
        ("+", "31 May 2026, 22:00:00 to 01 Jun 2026, 02:00:00."),
        ("-", "31 May 2026, 20:00:00 to 01 Jun 2026, 04:00:00."),
    ):
        until("it is drawn", lambda: page.evaluate(DRAWN))
        page.locator("#chart").press(key)
        expect(page.locator("#instant-text")).to_have_text(text)
    page.go_back()
    expect(page.locator("#instant-text")).to_have_text("31 May 2026, 22:00:00 to 01 Jun 2026, 02:00:00.")
    page.locator("#chart").press("Escape")
    expect(page.locator("#instant")).to_be_hidden()
    assert length(page) == 0


def test_no_way_of_choosing_leads_to_a_window_shorter_than_an_interval(page, offline, feed, lake):
    hourly = feed.model_copy(update={"interval_seconds": 3600, "spread_window_seconds": 10_800})
    declare(offline.feeds, hourly)
    world.archive(lake, hourly, {("a", dt.datetime(2026, 6, 1, hour, tzinfo=dt.UTC)): 100 for hour in range(24)})
    with served(offline) as (url, _):
        page.goto(f"{url}/?feed={hourly.name}&service=a&minutes=1440&from=2026-06-01T12:00:00Z&to=2026-06-01T12:59:59Z")
        expect(page.locator("#window")).to_have_value("1440")
        page.goto(f"{url}/?feed={hourly.name}&service=a&minutes=1440&from=2026-06-01T12:00:00Z&to=2026-06-01T13:00:00Z")
        expect(page.locator("#instant-text")).to_have_text("01 Jun 2026, 08:00:00 to 01 Jun 2026, 09:00:00.")
        until("it is drawn", lambda: page.evaluate(DRAWN))
        page.locator("#chart").press("+")
        expect(page.locator("#instant-text")).to_have_text("01 Jun 2026, 08:00:00 to 01 Jun 2026, 09:00:00.")
        page.get_by_role("button", name="Change").click()
        page.locator("#dates-from").fill("2026-06-01T08:00:01")
        page.locator("#dates-show").click()
        expect(page.locator("#dates-problem")).to_have_text("The shortest window is 1 hour.")
        page.locator("#dates-from").fill("2026-06-01T07:59:59")
        page.locator("#dates-show").click()
        expect(page.locator("#instant-text")).to_have_text("01 Jun 2026, 07:59:59 to 01 Jun 2026, 09:00:00.")
