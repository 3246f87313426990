"""Incidents in bounded memory: the last record of each, open ones for longest."""

from dataclasses import replace

import pytest

from serving.incidents import Incident, Incidents

SURGE = Incident(
    id="a@1",
    service="a",
    kind="deviation",
    state="opened",
    start=1,
    last=1,
    at=1,
    end=None,
    score=3.0,
    cause="why",
    level_shift=False,
    readings=1,
    actual=2.0,
    expected=1.0,
    area=1.0,
    direction="high",
    peak_at=1,
    peak=2.0,
    peak_expected=1.0,
    peak_size=9.0,
    group=None,
    services=None,
    members=[],
)


def of(service: str, start: int, state: str = "opened", group: str | None = None) -> Incident:
    return replace(SURGE, id=f"{service}@{start}", service=service, start=start, state=state, group=group)


@pytest.fixture
def known() -> Incidents:
    return Incidents(per_feed=3)


def test_the_last_record_of_an_id_counts_and_the_newest_come_first(known):
    for each in (of("a", 1), of("b", 2), of("a", 1, "closed")):
        known.put("calls", each)
    assert known.of("calls") == [of("b", 2), of("a", 1, "closed")]
    assert known.of("calls", only_open=True) == [of("b", 2)]
    assert known.of("calls", service="a") == [of("a", 1, "closed")]
    assert known.of("other") == []


def test_the_oldest_closed_one_makes_room_first(known):
    for each in (of("a", 1), of("b", 2, "closed"), of("c", 3, "closed"), of("d", 4), of("e", 5)):
        known.put("calls", each)
    assert [each.service for each in known.of("calls")] == ["e", "d", "a"]
    known.put("calls", of("f", 6))
    assert [each.service for each in known.of("calls")] == ["f", "e", "d"]


def test_members_are_listed_by_their_service_and_their_group_alone(known):
    group, a, b = of("*", 1), of("a", 1, "closed", "*@1"), of("b", 2, group="*@1")
    for each in (group, a, b):
        known.put("calls", each)
    assert known.of("calls") == [group]
    assert known.of("calls", group="*@1") == [b, a]
    assert known.of("calls", group="*@1", only_open=True) == [b]
    assert known.of("calls", service="a") == [a]
    assert known.of("calls", service="a", group="*@2") == []


def test_a_member_makes_room_before_others(known):
    for each in (of("*", 1), of("c", 1, "closed"), of("a", 2, group="*@1"), of("b", 3)):
        known.put("calls", each)
    assert [each.service for each in known.of("calls")] == ["b", "*", "c"]


def test_what_is_deleted_or_of_a_feed_that_is_gone_is_let_go(known):
    known.put("calls", of("a", 1))
    known.put("other", of("b", 1))
    known.forget("calls", "a@1")
    known.forget("calls", "a@1")
    known.keep({"calls"})
    assert known.of("calls") == known.of("other") == []
