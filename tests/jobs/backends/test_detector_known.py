"""What a query begins with: of each feed the newest states that were made by the feed's settings of now."""

import datetime as dt

import numpy as np

from contracts.incident_queries import settings_of
from jobs.backends import detector_states, tables
from jobs.backends.detector_known import at_midnight
from jobs.backends.detector_states import Midnight
from jobs.formats.known_rows import KnownRows
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


def test_the_newest_states_of_the_settings_of_now(lake_platform, capsys):
    assert at_midnight(lake_platform, "none", SETTINGS) is None
    night(lake_platform, 1, 30)
    night(lake_platform, 2, 31)
    night(lake_platform, 3, 32, OTHER)
    found = {row["ServiceName"]: row for row in at_midnight(lake_platform, FEED.table, SETTINGS).to_pylist()}
    assert found.keys() == {"a", None}
    assert (found["a"]["State"], found["a"]["Open"]) == (_STATE.tobytes(), None)
    assert found["a"]["Heard"] == '{"at": 2000, "value": 2.5, "readings": 31, "silent": false}'
    assert found[None]["Groups"] == '{"incidents": {}, "groups": {}, "silent": [0, 0]}'
    assert "knew at the beginning of 2026-06-02" in capsys.readouterr().out


def test_a_special_day_or_a_window_leaves_the_states_as_they_are(lake_platform):
    night(lake_platform, 1, 30)
    changed = SETTINGS | {"special_days": {"2026-06-09": True}, "windows": [["a", 1, 2]]}
    assert at_midnight(lake_platform, FEED.table, changed).num_rows == 2


def test_of_other_settings_nothing_is_known(lake_platform):
    night(lake_platform, 1, 30, OTHER)
    assert at_midnight(lake_platform, FEED.table, SETTINGS) is None


def test_executors_read_what_the_driver_keeps_of_this_meaning(lake_platform, tmp_path):
    night(lake_platform, 1, 30)
    found = at_midnight(lake_platform, FEED.table, SETTINGS)
    now, later = (KnownRows(str(tmp_path), {FEED.table: how}) for how in ("now", "later"))
    assert now.rows(FEED.table) == []
    now.keep(FEED.table, found)
    assert now.rows(FEED.table) == found.to_pylist()
    assert later.rows(FEED.table) == []
    later.keep(FEED.table, None)
    assert now.rows(FEED.table) == []


def test_other_formulas_or_another_clock_give_the_numbers_another_meaning_and_another_rule_does_not(monkeypatch, tmp_path):
    meaning = detector_states.meaning(SETTINGS)
    assert detector_states.meaning(SETTINGS | {"forget": 1, "rules": []}) == meaning
    for changed in ({"interval": 60_000}, {"timezone": "Asia/Tokyo"}, {"holidays": "US"}):
        assert detector_states.meaning(SETTINGS | changed) != meaning
    (tmp_path / "formula.py").write_text("another = 1")
    monkeypatch.setattr(detector_states, "FORMULAS", (*detector_states.FORMULAS[1:], tmp_path / "formula.py"))
    assert detector_states.meaning(SETTINGS) != meaning
