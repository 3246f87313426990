"""What a query begins with: of each feed the newest states that were made by the feed's settings of now."""

import datetime as dt

import numpy as np

from contracts.incident_queries import settings_of
from jobs.backends import detector_states, tables
from jobs.backends.detector_known import at_midnight
from jobs.backends.detector_states import Midnight
from jobs.transforms.detector.silence import Heard
from jobs.transforms.incident_walk import Known, Service
from tests.transforms.half_hours import FEED

SETTINGS = settings_of(FEED)
HOW = detector_states.how(SETTINGS)
_STATE = np.arange(3.0)
OTHER = detector_states.how(SETTINGS | {"forget": 1})


def night(platform, day: int, readings: int, how: str = HOW) -> None:
    known = Known({"a": Service(state=_STATE)}, {"a": Heard(1000 * day, 2.5, readings)})
    detector_states.write(tables.detector(platform, FEED), dt.date(2026, 6, day), Midnight(known, f"{how}-x"), {})


def test_the_newest_states_of_the_settings_of_now(spark, lake_platform, capsys):
    feeds = {FEED.table: SETTINGS, "none": SETTINGS}
    assert at_midnight(spark, lake_platform, feeds) is None
    night(lake_platform, 1, 30)
    night(lake_platform, 2, 31)
    night(lake_platform, 3, 32, OTHER)
    found = {row.ServiceName: row for row in at_midnight(spark, lake_platform, feeds).collect()}
    assert found.keys() == {"a", None}
    assert (found["a"].Feed, bytes(found["a"].State), found["a"].Open) == (FEED.table, _STATE.tobytes(), None)
    assert found["a"].Heard == '{"at": 2000, "value": 2.5, "readings": 31, "silent": false}'
    assert found[None].Groups == '{"incidents": {}, "groups": {}, "silent": [0, 0]}'
    assert "knew at the beginning of 2026-06-02" in capsys.readouterr().out


def test_a_special_day_or_a_window_leaves_the_states_as_they_are(spark, lake_platform):
    night(lake_platform, 1, 30)
    changed = SETTINGS | {"special_days": {"2026-06-09": True}, "windows": [["a", 1, 2]]}
    assert at_midnight(spark, lake_platform, {FEED.table: changed}).count() == 2


def test_of_other_settings_nothing_is_known(spark, lake_platform):
    night(lake_platform, 1, 30, OTHER)
    assert at_midnight(spark, lake_platform, {FEED.table: SETTINGS}) is None
