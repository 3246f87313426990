"""A machine that is too busy for Spark's Python processes: one of a query with state must begin within ten seconds."""

import datetime as dt
import re

import pytest

from tests.jobs import events
from tests.jobs.applications import until
from tests.jobs.kills import deployed
from tests.jobs.metrics import MINUTE

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

FIRST_ONE_LATE = """
import os, sys, time
if any("transform_with_state" in each for each in sys.orig_argv) and not os.path.exists({mark!r}):
    open({mark!r}, "w").close()
    time.sleep(13)
"""


def test_a_query_whose_process_began_too_late_is_started_again_and_no_other(broker, start, tmp_path):
    reader, source, mark = deployed(broker, "events"), events.Events(broker), tmp_path / "one was late"
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "sitecustomize.py").write_text(FIRST_ONE_LATE.format(mark=str(mark)))
    begin = int(dt.datetime.now(dt.UTC).timestamp() * 1000) // (10 * MINUTE) * 10 * MINUTE - 60 * MINUTE
    views = [{"Product": "abc"[n % 3], "User": f"u{n}", "At": begin + n * MINUTE} for n in range(30)]
    source.send("product-views", *((each["User"], each) for each in views))
    driver = start("events", path=[str(tmp_path / "first")])
    until("all queries run", driver.works)
    until("one was late", mark.exists)
    trending = events.trending(views)
    until("trending", lambda: events.as_trending(reader.of("product-views.trending", "trending_products").values()) == trending)
    assert driver.stop() == 0
    started = re.findall(r"^query (\S+) started", (tmp_path / "drivers.log").read_text(), re.MULTILINE)
    assert {name: started.count(name) for name in started} == {name: 1 + (name == "trending-products") for name in started}
