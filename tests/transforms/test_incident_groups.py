"""Many services at once: one group with its members, however the events are cut; and a feed that falls silent."""

from dataclasses import asdict
from json import dumps, loads

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.transforms import incident_rows
from jobs.transforms.detector.incident_life import Event, Incident
from jobs.transforms.detector.silence import Heard, Silence
from jobs.transforms.incident_groups import MOST_MEMBERS, GroupRule, Groups, grouped

SECOND = 1000
RULE = GroupRule(services=3, within=3 * SECOND)


def deviation(service: str, onset: int, state: str, at: int, direction: str = "high", score: float = 3.0) -> dict:
    """The event of an incident; onset, at: in seconds, which are the intervals."""
    actual = 2.0 if direction == "high" else 0.0
    side = 1 if direction == "high" else -1
    figures = (1, actual, 1.0, 1.0, onset * SECOND, actual, 1.0, 9.0 * side, score, "why", False, 1, 0, 9.0)
    return incident_rows.of_deviation(
        Event(state, at * SECOND, Incident(service, side, onset * SECOND, onset * SECOND, *figures)),
        SECOND,
    )


def silence(service: str, onset: int, state: str, at: int, value: float = 7.0) -> dict:
    last = Heard((onset - 1) * SECOND, value, 99)
    return incident_rows.of_silence(Silence(state, at * SECOND, service, onset * SECOND, last, 0, 0))


def opened(*services: str, at: int = 1, **more) -> list[dict]:
    return [deviation(service, at, "opened", at, **more) for service in services]


def closed(*services: str, onset: int = 1, at: int = 9, **more) -> list[dict]:
    return [deviation(service, onset, "closed", at, **more) for service in services]


def brief(rows: list[dict]) -> list[tuple]:
    """(Id without date, state, time in seconds, group)."""
    clock = [(row["Id"].replace("1970-01-01T00:00:", ""), row["State"], row["At"] // SECOND, row["Group"]) for row in rows]
    return [(*each[:3], each[3] and each[3].replace("1970-01-01T00:00:", "")) for each in clock]


def emitted(*events: list[dict], known: Groups | None = None, silent=None, rule: GroupRule | None = RULE) -> list[dict]:
    silent = {at * SECOND: each for at, each in (silent or {}).items()}
    return grouped(known or Groups(), [row for rows in events for row in rows], silent, rule)[1]


def test_incidents_of_one_time_are_one_group_from_the_first_record_on():
    rows = emitted(opened("c", "a", "b"))
    assert brief(rows) == [
        ("*@01Z", "opened", 1, None),
        ("a@01Z", "opened", 1, "*@01Z"),
        ("b@01Z", "opened", 1, "*@01Z"),
        ("c@01Z", "opened", 1, "*@01Z"),
    ]
    assert rows[0] == {
        "Id": "*@1970-01-01T00:00:01Z",
        "ServiceName": "*",
        "Kind": "group",
        "State": "opened",
        "Start": 1000,
        "Last": 1000,
        "At": 1000,
        "End": None,
        "Score": 3.0,
        "Cause": "a is the first: 3 too high",
        "LevelShift": False,
        "Readings": 3,
        "Actual": None,
        "Expected": None,
        "Area": None,
        "Direction": "high",
        "PeakAt": None,
        "Peak": None,
        "PeakExpected": None,
        "PeakSize": None,
        "Group": None,
        "Services": 3,
        "Members": [f"{each}@1970-01-01T00:00:01Z" for each in "abc"],
    }
    assert list(rows[0]) == incident_rows.COLUMNS


def test_what_opened_before_becomes_a_member_when_the_group_opens():
    rows = emitted(opened("b", at=1), opened("a", at=2, direction="low", score=4.0), opened("c", at=3))
    assert brief(rows) == [
        ("b@01Z", "opened", 1, None),
        ("a@02Z", "opened", 2, None),
        ("*@01Z", "opened", 3, None),
        ("a@02Z", "updated", 3, "*@01Z"),
        ("b@01Z", "updated", 3, "*@01Z"),
        ("c@03Z", "opened", 3, "*@01Z"),
    ]
    group = rows[2]
    assert [each[0] for each in group["Members"]] == ["b", "a", "c"], "the first mover is the first"
    assert (group["Direction"], group["Score"]) == (None, 4.0)
    assert group["Cause"] == "b is the first: 2 too high, 1 too low"
    assert rows[4] == rows[0] | {"State": "updated", "At": 3000, "Group": group["Id"]}


@pytest.mark.parametrize(
    "events",
    [
        [opened("a", at=1), opened("b", at=2), opened("c", at=4)],
        [opened("a", "b", at=1)],
        [opened("a", at=1), closed("a", at=2), opened("b", "c", at=3)],
        [opened("a", "b", at=1), opened("b", at=2)],
    ],
    ids=["too far apart", "too few", "closed before", "one service twice"],
)
def test_others_stand_alone(events):
    assert {row["Kind"] for row in emitted(*events)} == {"deviation"}


def test_without_a_rule_nothing_becomes_a_group():
    assert emitted(opened("a", "b", "c"), rule=None) == opened("a", "b", "c")


def test_a_member_joins_while_the_group_is_open_and_close_to_another_member():
    rows = emitted(opened("a", "b", "c", at=1), opened("d", at=3), opened("e", at=5), opened("f", at=8))
    assert brief(rows)[4:] == [
        ("*@01Z", "updated", 3, None),
        ("d@03Z", "opened", 3, "*@01Z"),
        ("*@01Z", "updated", 5, None),
        ("e@05Z", "opened", 5, "*@01Z"),
        ("f@08Z", "opened", 8, None),
    ]
    assert (rows[6]["Services"], rows[6]["Members"][-1]) == (5, "e@1970-01-01T00:00:05Z")


def test_one_that_began_earlier_is_the_first_mover_and_the_id_stays():
    rows = emitted(opened("b", "c", "d", at=5), [deviation("a", 3, "opened", 7)])
    assert brief(rows)[4:] == [("*@05Z", "updated", 7, None), ("a@03Z", "opened", 7, "*@05Z")]
    assert rows[4]["Members"][0] == "a@1970-01-01T00:00:03Z"
    assert rows[4]["Start"] == 3000


def test_one_that_began_too_early_is_no_member():
    rows = emitted(opened("b", "c", "d", at=5), [deviation("a", 2, "opened", 7)])
    assert brief(rows)[-1] == ("a@02Z", "opened", 7, None)


def test_incidents_near_to_those_that_make_a_group_are_members_from_the_start():
    rows = emitted(opened("a", at=1), opened("b", at=3), opened("c", "d", at=5))
    assert brief(rows)[2][:2] == ("*@01Z", "opened")
    assert [each[0] for each in rows[2]["Members"]] == ["a", "b", "c", "d"]


def test_a_group_is_closed_when_all_its_members_are():
    begun = [opened("a", "b", "c"), closed("a", "b", at=7)]
    rows = emitted(*begun, closed("c", at=9))
    assert brief(rows)[4:] == [
        ("a@01Z", "closed", 7, "*@01Z"),
        ("b@01Z", "closed", 7, "*@01Z"),
        ("*@01Z", "closed", 9, None),
        ("c@01Z", "closed", 9, "*@01Z"),
    ]
    assert rows[6] == rows[0] | {"State": "closed", "At": 9000, "End": 2000}
    known, _ = grouped(Groups(), [row for rows in (*begun, closed("c", at=9)) for row in rows], {}, RULE)
    assert (known.incidents, known.groups) == ({}, {}), "nothing is left in the state"


def test_a_group_that_is_over_takes_nobody_in():
    rows = emitted(opened("a", "b", "c"), closed("a", "b", "c", at=2), opened("d", at=3))
    assert brief(rows)[-1] == ("d@03Z", "opened", 3, None)


def test_two_groups_may_be_open_at_once():
    rows = emitted(opened("a", "b", "c", at=1), opened("d", "e", "f", at=9))
    assert [(row["Id"][-3:], row["Services"]) for row in rows if row["Kind"] == "group"] == [("01Z", 3), ("09Z", 3)]


def test_a_feed_that_falls_silent_is_one_group_that_tells_the_last_reading():
    rows = emitted([silence("a", 2, "opened", 9), silence("b", 3, "opened", 9, value=331.0)], silent={9: (2, 2)})
    assert brief(rows) == [
        ("*@02Z", "opened", 9, None),
        ("a@02Z", "opened", 9, "*@02Z"),
        ("b@03Z", "opened", 9, "*@02Z"),
    ]
    assert rows[0]["Cause"] == (
        "the feed is silent: 2 silent; last of all b: no reading since 1970-01-01T00:00:02Z, whose value was 331"
    )
    assert (rows[0]["Last"], rows[0]["Direction"], rows[0]["Readings"]) == (2000, None, 0)


def test_a_silent_feed_is_silent_when_another_incident_joins():
    silences = [silence("a", 2, "opened", 5), silence("b", 2, "opened", 5)]
    rows = emitted(silences, [deviation("c", 3, "opened", 6)], silent={5: (2, 2)})
    assert [row["Cause"].split(";")[0] for row in rows if row["Kind"] == "group"] == [
        "the feed is silent: 2 silent",
        "the feed is silent: 2 silent, 1 too high",
    ]


@pytest.mark.parametrize(("silent", "said"), [(17, "a is the first"), (18, "the feed is silent")])
def test_nearly_all_services_are_the_feed(silent, said):
    rows = emitted([silence(each, 2, "opened", 9) for each in "abc"], silent={9: (silent, 20)})
    assert rows[0]["Cause"].startswith(f"{said}: 3 silent; last of all c: no reading since")


def test_some_silent_services_are_fewer_than_a_group():
    rows = emitted([silence(each, 2, "opened", 9) for each in "ab"], silent={9: (2, 20)})
    assert [row["Kind"] for row in rows] == ["silence", "silence"]


def test_a_group_names_its_first_members_only():
    services = [f"s{number:03}" for number in range(MOST_MEMBERS + 20)]
    rows = emitted(opened(*services))
    assert (rows[0]["Services"], len(rows[0]["Members"])) == (MOST_MEMBERS + 20, MOST_MEMBERS)
    assert {row["Group"] for row in rows[1:]} == {rows[0]["Id"]}


@st.composite
def histories(draw) -> list[dict]:
    """Events of up to six services, each with one incident after the other."""
    found = []
    for service in "abcdef"[: draw(st.integers(1, 6))]:
        at = 0
        for _ in range(draw(st.integers(0, 3))):
            onset = at + draw(st.integers(1, 6))
            begin = onset + draw(st.integers(0, 2))
            at = begin + draw(st.integers(1, 6))
            kind = draw(st.sampled_from([deviation, silence]))
            found += [kind(service, onset, "opened", begin), kind(service, onset, "closed", at)]
    return found


@given(histories(), st.lists(st.integers(0, 30), max_size=3), st.integers(2, 4), st.integers(1, 4), st.randoms())
def test_groups_do_not_depend_on_how_the_events_are_cut(events, cuts, services, within, random):
    rule, silent = GroupRule(services, within * SECOND), {at * SECOND: (at % 4, 4) for at in range(40)}
    whole, wanted = grouped(Groups(), events, silent, rule)
    known, found = Groups(), []
    shuffled = [row for _, rows in sorted(by_incident(events).items(), key=lambda _: random.random()) for row in rows]
    for first, end in zip([-1, *sorted(cuts)], [*sorted(cuts), 99], strict=True):
        piece = [row for row in shuffled if first * SECOND < row["At"] <= end * SECOND]
        known, rows = grouped(Groups(**loads(dumps(asdict(known)))), piece, silent, rule)
        found += rows
    assert found == wanted
    assert (known.incidents, known.groups) == (whole.incidents, whole.groups)


@given(histories(), st.integers(2, 4), st.integers(1, 4))
def test_what_a_group_says_is_so(events, services, within):
    rule = GroupRule(services, within * SECOND)
    known, rows = grouped(Groups(), events, {}, rule)
    assert (known.incidents, known.groups) == ({}, {}), "all incidents are closed"
    last = {row["Id"]: row for row in rows}
    groups = [row for row in last.values() if row["Kind"] == "group"]
    assert all(row["State"] == "closed" for row in last.values())
    alone = [row for row in last.values() if row["Kind"] != "group"]
    assert {name for row in groups for name in row["Members"]} == {row["Id"] for row in alone if row["Group"]}
    for group in groups:
        members = [last[name] for name in group["Members"]]
        assert [row["Start"] for row in members] == sorted(row["Start"] for row in members)
        assert all(row["Group"] == group["Id"] for row in members)
        assert len({row["ServiceName"] for row in members}) == group["Services"] >= services
        assert group["At"] == max(row["At"] for row in members)
    emitted_once = [(row["Id"], row["State"], row["At"]) for row in rows if row["State"] != "updated"]
    assert len(set(emitted_once)) == len(emitted_once), "nothing is emitted twice"


def by_incident(events: list[dict]) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for row in events:
        found.setdefault(row["Id"], []).append(row)
    return found
