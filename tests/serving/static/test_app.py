"""The page in a real browser, on real topics and tables: what it draws and follows, what it says when something is missing."""

import datetime as dt
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from tests.serving import derived, world
from tests.serving.conftest import CHROMIUM, NASTY, served
from tests.serving.static.conftest import drawn
from tests.support.waiting import until

PIXELS_LIKE_ANOMALIES = """(() => {
  const canvas = document.querySelector("#chart canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let pixels = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i] > 190 && data[i + 1] < 60 && data[i + 2] < 80 && data[i + 3] > 200) pixels += 1;
  }
  return pixels;
})()"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


def test_the_chart_draws_readings_band_and_anomalies(page, site, feed, at):
    page.goto(f"{site[0]}/?feed={feed.name}&service=a&minutes=60")
    seconds, value, low, high, expected, anomalous = drawn(page)
    read = [row for row, reading in enumerate(value) if reading is not None]
    assert [(seconds[row], value[row]) for row in read] == [
        (at(i).timestamp(), 200 if i == 10 else 0 if i == 11 else 100 + i % 3) for i in range(30)
    ]
    assert {(low[row], high[row], expected[row]) for row in read} == {(88, 112, 100)}
    assert [(seconds[row], marked) for row, marked in enumerate(anomalous) if marked is not None] == [
        (at(10).timestamp(), 200),
        (at(11).timestamp(), 0),
    ]
    ahead = [row for row in range(len(seconds)) if seconds[row] > dt.datetime.now().timestamp() + 60]
    assert len(ahead) > 80
    for row in (ahead[0], ahead[-1]):
        local = dt.datetime.fromtimestamp(seconds[row], feed.zone)
        slot = (local.hour * 3600 + local.minute * 60 + local.second) // 10
        assert expected[row] == pytest.approx(1.25 * world.shape(slot, feed.slots, 100.0))
        assert high[row] == pytest.approx(expected[row] + max(0.05 * expected[row], 6 * 2.0))
    ink = page.evaluate(PIXELS_LIKE_ANOMALIES)
    assert ink > 20, "the anomalies are painted in their colour"


def test_the_panels_say_what_is_so(page, site, feed, at):
    page.goto(f"{site[0]}/?feed={feed.name}&service=a")
    rows = page.locator("#anomalies tr")
    expect(rows).to_have_count(3)
    local = at(11).astimezone(feed.zone)
    expect(rows.nth(0)).to_contain_text(f"{local:%H:%M:%S}")
    expect(rows.nth(0)).to_contain_text(f"{at(11):%H:%M:%S} UTC")
    assert rows.nth(0).locator("td").all_inner_texts()[1:] == ["a", "0", "100", "−100 %"]
    assert rows.nth(1).locator("td").all_inner_texts()[1:] == ["a", "200", "100", "+100 %"]
    expect(page.locator("#zone")).to_have_text("Time (America/New_York)")
    expect(page.locator("#baseline .version")).to_have_text("v1")
    for text in ("gate passed", "21 Nov 2026, 03:00:00", "2026-11-21", "Promoted by nightly_baseline: passed the gate", "v9"):
        expect(page.locator("#baseline")).to_contain_text(text)
    expect(page.locator("#history li")).to_have_count(2)
    expect(page.locator("#history li").nth(1)).to_contain_text("candidate v8 · as of 2026-11-20")
    expect(page.locator("#streams li")).to_contain_text(f"{feed.name}.score")
    expect(page.locator("#streams .pill")).to_have_text("running")
    expect(page.locator("#streams li")).to_contain_text("heartbeat")
    expect(page.locator("#connection")).to_have_text("Live")


def test_new_records_appear_by_themselves(page, site, feed, at):
    url, topics = site
    page.goto(f"{url}/?feed={feed.name}&service=a")
    expect(page.locator("#connection")).to_have_text("Live")
    flagged = derived.scored("a", at(31), 333, Anomalous=True)
    topics.send("scored", [flagged, derived.scored("a", at(10), 101)])
    topics.send("anomaly", [derived.anomaly(flagged)])
    expect(page.locator("#anomalies tr").nth(0)).to_contain_text("333", timeout=5000)
    expect(page.locator("#figures")).to_contain_text("333")
    seconds, value, *_, anomalous = drawn(page)
    assert value[seconds.index(at(31).timestamp())] == anomalous[seconds.index(at(31).timestamp())] == 333
    assert (value[seconds.index(at(10).timestamp())], anomalous[seconds.index(at(10).timestamp())]) == (101, None), (
        "corrected in place"
    )
    assert seconds == sorted(set(seconds))


@pytest.mark.full
def test_new_records_are_counted_where_a_bucket_has_several(page, site, feed, at):
    url, topics = site
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(f"{url}/?feed={feed.name}&service=a&minutes=60")
    expect(page.locator("#connection")).to_have_text("Live")
    length = drawn(page)[0][1] - drawn(page)[0][0]
    assert length == 20, "two readings in a bucket"
    topics.send(
        "scored", [derived.scored("a", at(30), 100), derived.scored("a", at(31), 1333, Anomalous=True)]
    )  # far from what is expected at any hour
    until("both are counted", lambda: (drawn(page)[1])[drawn(page)[0].index(at(30).timestamp())] == 716.5)
    place = drawn(page)[0].index(at(30).timestamp())
    assert page.evaluate("(place) => sundial.chart.data.slice(5, 8).map((column) => column[place])", place) == [1333, 100, 1333]
    expect(page.locator("#figures")).to_contain_text("1,333")


def test_incidents_open_and_close_before_ones_eyes(page, site, feed, at):
    url, topics = site
    page.goto(f"{url}/?feed={feed.name}&service=a")
    expect(page.locator("#connection")).to_have_text("Live")
    expect(page.locator("#incidents-card")).to_be_hidden()
    topics.send("incident", [derived.incident("a", at(0), "closed"), derived.incident(NASTY, at(20), Cause=NASTY)])
    rows = page.locator("#incidents li")
    expect(rows).to_have_count(2, timeout=5000)
    expect(rows.nth(0)).to_contain_text("open")
    expect(rows.nth(0)).to_contain_text("Too high, for")
    expect(rows.nth(0).locator("p.quiet")).to_have_text(NASTY)
    expect(rows.nth(1)).to_contain_text("Too high, 10 s long: 200 at its peak, 100 expected")
    silent = {"Kind": "silence", "Readings": 0, "Score": 0.0, "Direction": None, "Peak": None, "PeakExpected": None}
    topics.send("incident", [derived.incident("a", at(25), **silent), derived.incident(NASTY, at(20), "closed", LevelShift=True)])
    expect(rows).to_have_count(3, timeout=5000)
    expect(rows.nth(0)).to_contain_text("No readings, for")
    expect(rows.nth(1)).to_contain_text("the level has shifted for good")
    rows.nth(1).get_by_role("button").click()
    expect(page.locator("#chart-title")).to_have_text(NASTY)
    assert page.title() != "owned"
    page.reload()
    expect(rows).to_have_count(3)


@pytest.mark.full
def test_a_group_is_one_row_that_unfolds_to_its_members(page, site, feed, at):
    url, topics = site
    page.goto(f"{url}/?feed={feed.name}&service=a")
    expect(page.locator("#connection")).to_have_text("Live")
    first, second = derived.incident("a", at(10)), derived.incident(NASTY, at(11))
    topics.send("incident", [first, second])
    rows = page.locator("#incidents > li")
    expect(rows).to_have_count(2, timeout=5000)
    topics.send("incident", derived.group(first, second, derived.incident("b", at(12))))
    expect(rows).to_contain_text(["3 services"], timeout=5000)  # of two partitions, a member may come before its group
    expect(rows).to_have_count(1)
    expect(rows.locator("p.how")).to_contain_text("Too high, for")
    expect(rows.locator("p.quiet")).to_have_text("a is the first")
    members = rows.locator("details li")
    expect(members.nth(0)).to_be_hidden()
    rows.locator("summary").click()
    expect(members).to_contain_text(["a", NASTY, "b"])
    topics.send("incident", derived.group(first, second, Cause="it went on"))
    expect(rows.locator("p.quiet")).to_have_text("it went on", timeout=5000)
    expect(members).to_have_count(2)
    expect(members.nth(0)).to_be_visible()  # still unfolded
    members.nth(1).get_by_role("button").click()
    expect(page.locator("#chart-title")).to_have_text(NASTY)
    page.reload()
    expect(rows).to_have_count(1)


@pytest.mark.full
def test_a_span_of_the_past_can_be_looked_at_and_left(page, site, feed, lake, at):
    url, topics = site
    noon = dt.datetime(2026, 7, 1, 16, tzinfo=dt.UTC)  # in New York
    world.archive(lake, feed, {("a", noon): 77, (NASTY, noon): 66})
    page.goto(f"{url}/?feed={feed.name}&service=a&minutes=60&from=2026-07-01T15:30:00Z&to=2026-07-01T16:30:00Z")
    expect(page.locator("#instant-text")).to_have_text("01 Jul 2026, 11:30:00 to 01 Jul 2026, 12:30:00.")
    seconds, value, *_ = drawn(page)
    assert [(at, each) for at, each in zip(seconds, value, strict=True) if each is not None] == [(noon.timestamp(), 77)]
    topics.send("scored", [derived.scored("a", at(31), 333)])
    page.locator("#service").select_option(NASTY)
    expect(page.locator("#figures")).to_contain_text("66")  # the span stays when another service is chosen
    page.locator("#service").select_option("a")
    expect(page.locator("#figures")).to_contain_text("77")
    page.get_by_role("button", name="Back to now").click()
    expect(page.locator("#figures")).to_contain_text("333")
    expect(page.locator("#instant")).to_be_hidden()
    assert "from=" not in page.url


@pytest.mark.full
def test_an_anomaly_is_shown_when_it_was(page, site, feed, lake, at):
    url, topics = site
    then = at(0) - dt.timedelta(minutes=40)
    flagged = derived.scored(NASTY, then, 444, Anomalous=True)
    topics.send("scored", [flagged])
    topics.send("anomaly", [derived.anomaly(flagged)])
    page.goto(f"{url}/?feed={feed.name}&service=a&minutes=15")
    page.locator("#anomalies tr", has_text="444").get_by_role("button").click()
    expect(page.locator("#instant")).to_be_visible()
    until("the chart is there", lambda: then.timestamp() in drawn(page)[0])
    seconds, *_, anomalous = drawn(page)
    assert anomalous[seconds.index(then.timestamp())] == 444
    page.locator("#anomalies tr").nth(0).get_by_role("button").click()
    expect(page.locator("#chart-title")).to_have_text("a")
    assert page.evaluate("new URLSearchParams(location.search).get('service')") == "a"


def test_a_stream_leads_to_its_pages_at_sparks_history(page, broker, online, feed, lake, drive):
    drive(dt.datetime.now(dt.UTC), {})
    with served(replace(online, spark_history="http://127.0.0.1:18007")) as (url, _):
        page.goto(f"{url}/?feed={feed.name}")
        link = page.locator("#streams").get_by_role("link", name="Spark")
        expect(link).to_have_attribute("href", "http://127.0.0.1:18007/history/local-1/")


def test_a_service_name_is_only_ever_text(page, site, feed):
    page.goto(f"{site[0]}/?feed={feed.name}&service=a")
    page.get_by_role("button", name=NASTY).click()
    expect(page.locator("#chart-title")).to_have_text(NASTY)
    expect(page.locator("#service")).to_have_value(NASTY)
    assert page.locator("main img").count() == 0
    assert page.title() == f"{NASTY} · Sundial"
    assert page.evaluate("new URLSearchParams(location.search).get('service')") == NASTY
    page.reload()
    expect(page.locator("#chart-title")).to_have_text(NASTY)
    page.go_back()
    expect(page.locator("#chart-title")).to_have_text("a")


@pytest.mark.full
def test_the_keyboard_reaches_everything(page, site, feed):
    page.goto(f"{site[0]}/?feed={feed.name}&service=a")
    expect(page.locator("#anomalies tr")).to_have_count(3)
    expect(page.locator("#beside")).to_be_visible()
    page.locator("#feed").focus()
    reached = []
    for _ in range(10):
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.className || document.activeElement.tagName")
        )
        page.keyboard.press("Tab")
    assert reached == ["feed", "service", "window", "comparison", "chart", "beside", "to-explore", "scroll", "link", "link"]
    page.keyboard.press("Enter")
    expect(page.locator("#chart-title")).to_have_text(NASTY)


@pytest.mark.full
@pytest.mark.parametrize("width", [360, 768, 1300])
def test_nothing_is_cut_off_at_any_width(page, site, feed, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{site[0]}/?feed={feed.name}&service=a")
    expect(page.locator("#anomalies tr")).to_have_count(3)
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    edge = page.locator("#anomalies tr").nth(0).locator(".off").bounding_box()
    assert edge["x"] + edge["width"] <= width


@pytest.mark.full
def test_an_empty_platform_says_what_to_run(page, offline, feed):
    with served(offline) as (url, state):
        until("the broker counts as unreachable", lambda: state.live.status.broker == "unreachable")
        page.goto(f"{url}/?feed={feed.name}")
        expect(page.locator("#chart-empty")).to_contain_text(f"sundial replay FILE --feed {feed.name}")
        expect(page.locator("#streams")).to_contain_text(f"switch on the DAG supervise_streams.{feed.name}")
        expect(page.locator("#baseline")).to_contain_text("trigger the DAG nightly_baseline")
        expect(page.locator("#gate")).to_contain_text("No candidate was judged yet. In Airflow, trigger the DAG nightly_baseline")
        expect(page.locator("#anomalies-empty")).to_contain_text("Flagged when more than 5 % off")
        expect(page.locator("#problem")).to_contain_text("start the brokers")
    expect(page.locator("#connection")).not_to_have_text("Live", timeout=8000)
