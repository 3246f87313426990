"""Rows of queries' tables in a chart of one's own, over a real broker."""

import pytest
from playwright.sync_api import expect

from tests.serving.conftest import CHROMIUM, NASTY
from tests.serving.static.conftest import HOUR, MINUTE, NOON
from tests.serving.static.explore.conftest import KEY, add, columns, drawn, values
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
TEN = 600.0  # seconds


def test_summaries_are_drawn_beside_readings_and_followed(page, tabled, summaries):
    page.goto(f"{tabled.url}?{HOUR}")
    page.get_by_label("Source").select_option(label=f"table {summaries.topic}")
    expect(page.locator("#subject option")).to_have_text([NASTY, KEY])
    add(page, f"readings of {tabled.feed}", "a", "value")
    add(page, f"table {summaries.topic}", f"{KEY}|*", "P50 to P99", "right")
    add(page, f"table {summaries.topic}", f"{KEY}|*", "P90", "right")
    drawn(page, 4)
    windows = [0 * TEN, 1 * TEN, 2 * TEN, 4 * TEN, 5 * TEN]
    assert values(page, 2) == dict(zip(windows, [20, 21, 22, 24, 25], strict=True))
    assert values(page, 3) == dict(zip(windows, [90.5, 91.5, 92.5, 94.5, 95.5], strict=True))
    assert values(page, 4) == values(page, 2)
    assert len(values(page, 1)) == 360
    gap = page.evaluate("sundial.chart.data[0].filter((_, index) => sundial.chart.data[2][index] === null)")
    assert [gap[0], gap[-1]] == [NOON.timestamp() + each for each in (1210, 2390)], "the window that is missing is a gap"
    expect(page.locator("#shown")).to_contain_text("UTC.")
    summaries.send(KEY, NOON + 30 * MINUTE, 23, 93.5)
    summaries.send(KEY, NOON, 19, 89)
    whole = dict(zip(range(0, 3600, 600), [19, 21, 22, 23, 24, 25], strict=True))
    until("the table was asked again", lambda: values(page, 2) == whole)
    page.reload()
    drawn(page, 4)
    assert len(values(page, 3)) == 6
    page.get_by_label("Source").select_option(label=f"table {summaries.topic}")
    page.get_by_label("Key begins with").fill("env")
    expect(page.locator("#subject option")).to_have_text([KEY])
    page.get_by_label("Key begins with").fill("zz")
    expect(page.locator("#add-note")).to_have_text("No key begins with this text.")
    expect(page.get_by_role("button", name="Add line")).to_be_disabled()


@pytest.mark.full
def test_a_key_without_windows_has_what_it_was_since_the_page_was_opened(page, tabled, summaries):
    summaries.total("total", 5)
    page.goto(f"{tabled.url}?minutes=15")
    add(page, f"table {summaries.totals}", "total", "P50")
    drawn(page, 1)
    expect(page.locator("#connection")).to_have_text("Live")
    expect(page.locator("#lines .doubt")).to_contain_text("has one row")
    summaries.total("total", 6)
    until("both are drawn", lambda: [each for each in columns(page)[1] if each is not None] == [5, 6])


@pytest.mark.full
def test_more_keys_than_the_form_offers_are_found_by_how_they_begin(page, tabled, summaries):
    for number in range(60):
        summaries.total(f"k{number:02}", number)
    page.goto(tabled.url)
    page.get_by_label("Source").select_option(label=f"table {summaries.totals}")
    expect(page.locator("#subject option")).to_have_count(50)
    expect(page.locator("#add-note")).to_contain_text("the first 50 keys")
    page.get_by_label("Key begins with").fill("k59")
    expect(page.locator("#subject option")).to_have_text(["k59"])


@pytest.mark.full
def test_a_table_that_is_gone_is_named(page, tabled, summaries):
    page.goto(f"{tabled.url}?query=gone&topic=gone.table&key=k%7C*&column=P50")
    expect(page.locator("#lines .doubt")).to_contain_text("No query 'gone' is declared.")
    expect(page.locator("#chart-empty")).to_have_text("No line could be loaded.")
    expect(page.locator("#connection")).to_have_text("Not all is loaded")
