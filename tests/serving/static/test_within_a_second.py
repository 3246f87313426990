"""How soon a record of Kafka is painted on the chart of a page that is open."""

import statistics
import time

import pytest
from playwright.sync_api import Page, expect

from tests.serving import derived
from tests.serving.conftest import CHROMIUM, ON_A_PHONE_TOO
from tests.serving.static.conftest import drawn

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
RECORDS = 5
SOON = 1.0  # seconds
# Looks with every frame for the colour of anomalies where the point has its place, and keeps when it came (epoch milliseconds).
WATCH = """([at, value]) => {
  globalThis.painted = new Promise((resolve, reject) => {
    const given = Date.now();
    const look = () => {
      const { plot } = sundial.chart;
      const [x, y] = [plot.valToPos(at, "x", true), plot.valToPos(value, "y", true)].map(Math.round);
      const [red, green, blue, opacity] = plot.ctx.getImageData(x, y, 1, 1).data;
      if (red > 190 && green < 60 && blue < 80 && opacity > 200) resolve(Date.now());
      else if (Date.now() - given > 60_000) reject(new Error(`nothing is painted at ${x}, ${y}`));
      else requestAnimationFrame(look);
    };
    look();
  });
}"""


def seconds_until_painted(page: Page, send, row: dict) -> float:
    """From when `row` is given to Kafka until its point is on the chart."""
    page.evaluate(WATCH, [row["Timestamp"].timestamp(), row["Value"]])
    sent = time.time()
    send("scored", [row])
    return page.evaluate("globalThis.painted") / 1000 - sent


@ON_A_PHONE_TOO
def test_a_record_is_on_the_chart_within_a_second(page, site, feed, at):
    """Each record is sent when the one before it is seen: a page that only asked again and again would be late each time."""
    url, topics = site
    page.goto(f"{url}/?feed={feed.name}&service=a&minutes=15")
    expect(page.locator("#connection")).to_have_text("Live")
    drawn(page)
    rows = [derived.scored("a", at(31 + number), 150 + 10 * number, Anomalous=True) for number in range(RECORDS)]
    took = [seconds_until_painted(page, topics.send, row) for row in rows]
    assert statistics.median(took) < SOON, f"seconds of each record: {took}"
