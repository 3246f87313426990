"""Incidents of a part of time: those that the nightly walk found, and the newest ones, each once and as it is known best."""

import datetime as dt
import shutil
from dataclasses import replace

import deltalake
import pyarrow as pa
import pytest

from jobs.transforms.incident_rows import SCHEMA
from serving.archive import Archive
from serving.incidents import Incident, Incidents
from serving.lake import Lake
from serving.past_incidents import FIELDS, between
from tests.serving.test_incidents import of

DAY = dt.datetime(2026, 7, 1, tzinfo=dt.UTC)


def ms(hours: float) -> int:
    return round((DAY + dt.timedelta(hours=hours)).timestamp() * 1000)


def event(
    service: str, start: float, state: str = "opened", end: float | None = None, at: float | None = None, **more
) -> Incident:
    """Hours of the day; known at its end, at `at`, or else at its start."""
    known = end if at is None else at
    return replace(
        of(service, ms(start), state), at=ms(start if known is None else known), end=None if end is None else ms(end), **more
    )


def night(lake, feed, *events: Incident) -> None:
    """Appends events to the table, as the nightly walk writes them."""
    rows = [{"Date": DAY.date()} | {name: getattr(each, field) for name, field in FIELDS.items()} for each in events]
    path = lake / "incidents" / feed.table
    path.parent.mkdir(parents=True, exist_ok=True)
    deltalake.write_deltalake(path, pa.Table.from_pylist(rows, SCHEMA), mode="append", partition_by=["Date"])


@pytest.fixture
def found(lake, feed):
    """found(live, from, to, …): services, states and ends of the incidents between two hours of the day."""

    def ids(live: Incidents, first: float, last: float, **chosen) -> list[tuple[str, str, int | None]]:
        span = (DAY + dt.timedelta(hours=first), DAY + dt.timedelta(hours=last))
        known = between(Lake(str(lake)), live, feed, *span, **chosen)
        return [(each.service, each.state, each.end) for each in known]

    return ids


def test_the_last_event_of_each_that_lasts_in_the_window_the_newest_first(lake, feed, found):
    night(lake, feed, event("a", 1), event("b", 2), event("a", 1, "updated", at=2), event("c", 5), event("a", 1, "closed", 3))
    night(lake, feed, event("b", 2, "updated"), event("d", 9), event("d", 9, "closed", 9))
    none = Incidents(per_feed=9)
    assert found(none, 0, 24) == [("d", "closed", ms(9)), ("c", "opened", None), ("b", "updated", None), ("a", "closed", ms(3))]
    assert found(none, 2.5, 5) == [("b", "updated", None), ("a", "closed", ms(3))], "c begins where the window ends"
    assert found(none, 3, 4) == [("b", "updated", None)], "a has ended where it begins"
    assert found(none, 0, 24, service="a") == [("a", "closed", ms(3))]
    assert found(none, 0, 24, only_open=True) == [("c", "opened", None), ("b", "updated", None)]


def test_of_one_that_both_know_the_record_that_knows_more_and_the_table_where_they_know_as_much(lake, feed, found):
    night(lake, feed, event("a", 1, "closed", 3, score=5.0), event("b", 2), event("c", 3, "closed", 4))
    live = Incidents(per_feed=9)
    for each in (event("a", 1, "closed", 3), event("b", 2, "closed", 8), event("c", 3), event("e", 20)):
        live.put(feed.name, each)
    expected = [("e", "opened", None), ("c", "closed", ms(4)), ("b", "closed", ms(8)), ("a", "closed", ms(3))]
    assert found(live, 0, 24) == expected
    [of_a] = between(Lake(str(lake)), live, feed, DAY, DAY + dt.timedelta(hours=2), service="a")
    assert of_a.score == 5.0
    assert found(live, 9, 24) == [("e", "opened", None)]


def test_members_are_there_for_their_group_and_their_service_alone(lake, feed, found):
    group = event("*", 1, kind="group", services=2, members=["a", "b"])
    night(lake, feed, group, event("a", 1, group=group.id), event("b", 2, group=group.id))
    none = Incidents(per_feed=9)
    assert found(none, 0, 24) == [("*", "opened", None)]
    assert found(none, 0, 24, group=group.id) == [("b", "opened", None), ("a", "opened", None)]
    assert found(none, 0, 24, service="a") == [("a", "opened", None)]


def test_live_ones_are_there_while_the_table_is_missing_or_damaged(lake, feed, found):
    live = Incidents(per_feed=9)
    live.put(feed.name, event("e", 20))
    assert found(live, 0, 24) == [("e", "opened", None)]
    night(lake, feed, event("a", 1))
    for file in (lake / "incidents" / feed.table).rglob("*.parquet"):
        file.unlink()
    assert found(live, 0, 24) == [("e", "opened", None)]
    assert found(Incidents(per_feed=9), 0, 24) == []
    shutil.rmtree(lake / "incidents" / feed.table / "_delta_log")
    (lake / "incidents" / feed.table / "_delta_log").mkdir()
    (lake / "incidents" / feed.table / "_delta_log" / "00000000000000000000.json").write_text("{")
    assert Archive.of(Lake(str(lake))).unreadable([feed])[feed.name].startswith("incidents: Kernel error: Json error")


def test_the_api_takes_a_window(client, feed, lake):
    night(lake, feed, event("a", 1, "closed", 3), event("b", 5))
    path = f"/api/feeds/{feed.name}/incidents"
    day = {"from": DAY.isoformat(), "to": (DAY + dt.timedelta(days=1)).isoformat()}
    assert client.get(path).json() == []
    assert [each["service"] for each in client.get(path, params=day).json()] == ["b", "a"]
    assert [each["service"] for each in client.get(path, params=day | {"limit": 1}).json()] == ["b"]
    assert client.get(path, params={"from": day["from"]}).status_code == 422
