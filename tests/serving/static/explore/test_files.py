"""A chart of one's own as a link, as CSV and as a picture."""

import base64
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.serving.conftest import CHROMIUM, NASTY
from tests.serving.static.conftest import NOON
from tests.serving.static.explore.conftest import drawn
from tests.serving.static.explore.test_readings import line
from tests.serving.static.test_zone import choose

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
MINUTE = "from=2026-07-01T16:05:00Z&to=2026-07-01T16:05:30Z"
INKS = """async ([picture, colours]) => {
  const bytes = Uint8Array.from(atob(picture), (each) => each.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
  canvas.drawImage(bitmap, 0, 0);
  const { data } = canvas.getImageData(0, 0, bitmap.width, bitmap.height);
  const names = colours.map((each) => getComputedStyle(document.documentElement).getPropertyValue(`--${each}`).trim());
  const inks = names.map((each) => [1, 3, 5].map((at) => parseInt(each.slice(at, at + 2), 16)));
  const rows = inks.map(() => new Set());
  const count = inks.map(() => 0);
  for (let at = 0; at < data.length; at += 4) {
    inks.forEach((ink, place) => {
      if (!ink.every((each, channel) => Math.abs(data[at + channel] - each) < 3)) return;
      count[place] += 1;
      rows[place].add(Math.floor(at / 4 / bitmap.width));
    });
  }
  return [bitmap.width, bitmap.height, count, rows.map((each) => Math.max(0, ...each))];
}"""

CORNER = """async (picture) => {
  const bytes = Uint8Array.from(atob(picture), (each) => each.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(1, 1).getContext("2d");
  canvas.drawImage(bitmap, 0, 0);
  return Array.from(canvas.getImageData(0, 0, 1, 1).data);
}"""


def saved(page: Page, button: str, name: str) -> bytes:
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    assert download.value.suggested_filename == name
    return Path(download.value.path()).read_bytes()


def test_the_csv_has_what_is_charted(page, explored):
    feed = explored.feed
    page.goto(f"{explored.url}?{MINUTE}&{line(feed, 'a')}&{line(feed, 'b', axis='right')}&{line(feed, NASTY)}")
    drawn(page, 3)
    name = NASTY.replace('"', '""')
    assert saved(page, "CSV", "sundial.csv").decode() == (
        f'"at","{feed} · a · value","{feed} · b · value","{feed} · {name} · value"\n'
        "2026-07-01T12:05:00.000-04:00,102,7,50\n"
        "2026-07-01T12:05:10.000-04:00,103,,50\n"
        "2026-07-01T12:05:20.000-04:00,104,,50\n"
        "2026-07-01T12:05:30.000-04:00,105,,50\n"
    )


@pytest.mark.full
def test_the_csv_has_two_columns_of_a_band(page, explored):
    page.goto(f"{explored.url}?{MINUTE}&{line(explored.feed, 'a', 'low..high')}&{line(explored.feed, 'a')}")
    drawn(page, 3)
    head, *rows = saved(page, "CSV", "sundial.csv").decode().splitlines()
    name = f"{explored.feed} · a"
    assert head == f'"at","{name} · band: low","{name} · band: high","{name} · value"'
    bands = page.evaluate("[1, 2].map((column) => Array.from(sundial.chart.data[column]))")
    assert [row.split(",")[1:3] for row in rows] == [[repr(low), repr(high)] for low, high in zip(*bands, strict=True)]


def test_the_picture_has_the_lines_below_a_title_and_above_their_names(page, explored):
    page.goto(f"{explored.url}?{MINUTE}&{line(explored.feed, 'a')}&{line(explored.feed, NASTY)}")
    drawn(page, 2)
    picture = base64.b64encode(saved(page, "PNG", "sundial.png")).decode()
    width, height, inks, lowest = page.evaluate(INKS, [picture, ["value", "beside-1", "text", "beside-2"]])
    chart = page.evaluate("[sundial.chart.plot.ctx.canvas.width, sundial.chart.plot.ctx.canvas.height]")
    assert [width - chart[0], height - chart[1]] == [32, 3 * 16 + 3 * 22]
    assert all(each > 100 for each in inks[:3])
    assert inks[3] == 0, "there is no third line"
    assert lowest[:2] == pytest.approx([height - 16 - 22 - 11, height - 16 - 11], abs=2), "the swatch of each name"


def test_the_files_follow_the_zone_and_the_theme(page, explored):
    page.goto(f"{explored.url}?{MINUTE}&{line(explored.feed, 'a')}&zone=UTC")
    drawn(page, 1)
    assert saved(page, "CSV", "sundial.csv").decode().splitlines()[1] == "2026-07-01T16:05:00.000Z,102"
    choose(page, "Asia/Tokyo")
    expect(page.locator("#shown")).to_have_text("02 Jul 2026, 01:05:00 to 02 Jul 2026, 01:05:30 Asia/Tokyo.")
    expect(page.locator("#lines .quiet")).to_contain_text("at Thu 02 Jul, 01:05:30.")
    assert saved(page, "CSV", "sundial.csv").decode().splitlines()[1] == "2026-07-02T01:05:00.000+09:00,102"
    assert page.evaluate("sundial.chart.plot.axes[0]._values[0]") == "01:05:00\n02 Jul"
    for theme, card in (("light", [255, 255, 255, 255]), ("dark", [22, 29, 40, 255])):
        page.evaluate("(theme) => display.choose('theme', theme)", theme)
        picture = base64.b64encode(saved(page, "PNG", "sundial.png")).decode()
        assert page.evaluate(CORNER, picture) == card, theme


@pytest.mark.full
def test_the_link_that_is_copied_shows_the_same_chart(page, explored):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{explored.url}?{MINUTE}&{line(explored.feed, 'a')}")
    drawn(page, 1)
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#done")).to_have_text("The link is copied.")
    link = page.evaluate("navigator.clipboard.readText()")
    other = page.context.new_page()
    other.goto(link)
    drawn(other, 1)
    assert other.evaluate("Array.from(sundial.chart.data[1])") == [102, 103, 104, 105]
    assert other.evaluate("sundial.chart.data[0][0]") == NOON.timestamp() + 300
    page.evaluate("void (navigator.clipboard.writeText = () => Promise.reject(new Error('no')))")
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#done")).to_contain_text("The address of the page is the link.")
