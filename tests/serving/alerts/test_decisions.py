"""A message is decided once, whatever comes in which order and however often; nobody is disturbed when they may not be."""

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from contracts.alerts import Route, SaidSilence
from serving.alerts.decisions import Known, decided, seen

NOON = 1_795_435_200_000  # Monday 2026-11-23 12:00 UTC
MINUTE = 60_000
TARGET = {"kind": "slack", "url": "SUNDIAL_ALERT_X"}


def route(**fields) -> Route:
    return Route.model_validate({"name": "r", "description": "x", "target": TARGET} | fields)


def incident(state: str = "opened", at: int = 0, **fields) -> dict:
    start, time = "2026-11-23T12:00:00.000Z", f"2026-11-23T12:{at:02}:00.000Z"
    row = {"Id": "a@x", "ServiceName": "a", "Kind": "deviation", "State": state, "Start": start, "Last": time, "At": time}
    return row | {"Score": 2.0, "Actual": 6.0, "Expected": 10.0, "Group": None, "Services": None, "Members": []} | fields


def notified(declared: Route, known: Known, now: int, attended: bool = False) -> tuple[Known, list[tuple[str, str]]]:
    known, messages = decided({"r": declared}, known, now, attended)
    return known, [(each.event, each.to) for each in messages]


@given(st.lists(st.sampled_from(["opened", "updated", "closed", "tick"]), min_size=1, max_size=12))
def test_each_state_is_told_once_for_any_order_and_repeat_of_events(events):
    declared = route(escalation={"after": "5 minutes", "target": TARGET}, reminder="10 minutes")
    known, ids, names = None, [], []
    for number, event in enumerate(events):
        if event != "tick":
            known = seen(known, "f", incident(event, 0), NOON)
        if known:
            known, messages = decided({"r": declared}, known, NOON + number * MINUTE, attended=False)
            ids += [each.id for each in messages]
            names += [each.event for each in messages]
    assert len(ids) == len(set(ids))
    assert names.count("opened") <= 1
    assert names.count("closed") <= 2  # to the target, and to that of the escalation
    if "opened" in names:
        assert names[0] == "opened"
        assert ("closed" in names) == (known.closed is not None)
        assert names.count("closed") == (1 + ("escalated" in names) if known.closed else 0)
    else:
        assert names == []


def test_a_silence_that_a_person_asked_for_holds_for_all_routes_until_its_end():
    at = dt.datetime.fromtimestamp(NOON / 1000, dt.UTC)
    said = {"until": at + dt.timedelta(hours=1), "reason": "it moves", "by": "olga", "at": at}
    opened = seen(None, "f", incident(), NOON)

    def events(minute: int, **fields) -> list[str]:
        silence = SaidSilence.model_validate(said | fields)
        return [each.event for each in decided({"r": route()}, opened, NOON + minute * MINUTE, False, [silence])[1]]

    assert events(59) == events(59, feeds=("f",), services="a|b") == []
    assert events(60) == events(59, feeds=("other",)) == events(59, services="b") == ["opened"]


def test_escalation_and_reminders_follow_the_opening_and_all_who_know_hear_of_the_closing():
    declared = route(escalation={"after": "30 minutes", "target": TARGET}, reminder="20 minutes")
    known, first = notified(declared, seen(None, "f", incident(), NOON), NOON)
    assert first == [("opened", "target")]
    found = []
    for minute in range(1, 61):
        known, messages = notified(declared, known, NOON + minute * MINUTE)
        found += [(minute, *each) for each in messages]
    assert found == [
        (20, "reminder", "target"), (30, "escalated", "escalation"), (40, "reminder", "target"), (60, "reminder", "target"),
    ]  # fmt: skip
    known = seen(known, "f", incident("closed", 59), NOON)
    assert notified(declared, known, NOON + 61 * MINUTE)[1] == [("closed", "target"), ("closed", "escalation")]


def test_whoever_looks_after_an_incident_is_neither_reminded_nor_passed_over_until_that_is_taken_back():
    declared = route(escalation={"after": "30 minutes", "target": TARGET}, reminder="20 minutes")
    known, first = notified(declared, seen(None, "f", incident(), NOON), NOON, attended=True)
    assert first == [("opened", "target")]
    for minute in range(1, 61):
        assert notified(declared, known, NOON + minute * MINUTE, attended=True) == (known, [])
    assert notified(declared, seen(known, "f", incident("closed", 59), NOON), NOON, attended=True)[1] == [("closed", "target")]
    assert notified(declared, known, NOON + 61 * MINUTE)[1] == [("escalated", "escalation"), ("reminder", "target")]


def test_what_is_opened_in_quiet_hours_is_told_when_they_are_over_if_it_is_still_open():
    declared = route(hours=["mon-fri 08:00-18:00"], timezone="America/New_York", maintenance=["mon 09:00-09:30"])
    known = seen(None, "f", incident(), NOON)  # 07:00 in New York
    assert notified(declared, known, NOON) == (known, [])
    after, messages = notified(declared, known, NOON + 60 * MINUTE)
    assert messages == [("opened", "target")]
    assert notified(declared, known, NOON + 125 * MINUTE)[1] == []
    assert notified(declared, seen(known, "f", incident("closed", 1), NOON), NOON + 60 * MINUTE)[1] == []
    night = NOON + 12 * 60 * MINUTE  # nobody is left with an alert that is over
    assert notified(declared, seen(after, "f", incident("closed", 1), NOON), night)[1] == [("closed", "target")]


def test_hours_over_midnight_belong_to_the_day_on_which_they_begin():
    declared = route(hours=["fri 22:00-06:00"])
    friday = dt.datetime(2026, 11, 27, tzinfo=dt.UTC)
    found = [hour for hour in range(48) if declared.disturbs(friday + dt.timedelta(hours=hour))]
    assert found == list(range(22, 30))


def test_a_member_of_a_group_is_not_told_alone_and_its_group_is_told_to_those_of_its_services():
    member = seen(None, "f", incident(Group="*@x"), NOON)
    assert notified(route(), member, NOON)[1] == []
    group = incident(ServiceName="*", Kind="group", Members=["a@x", "b@x"], Services=2)
    assert [notified(route(services=each), seen(None, "f", group, NOON), NOON)[1] for each in ("b", "c")] == [
        [("opened", "target")], [],
    ]  # fmt: skip
    many = seen(None, "f", group | {"Services": 200}, NOON)  # some of its members are not listed
    assert notified(route(services="c"), many, NOON)[1] == [("opened", "target")]


def test_severity_feeds_silences_and_waiting_keep_messages_back():
    known = seen(None, "f", incident(), NOON)
    assert notified(route(severity="error"), known, NOON)[1] == []
    assert notified(route(severity="error"), seen(known, "f", incident("updated", 1, Score=2.4), NOON), NOON)[1] != []
    assert notified(route(severity="error"), seen(known, "f", incident("updated", 9, Actual=0.0), NOON), NOON)[1] == []
    assert notified(route(severity="error"), seen(known, "f", incident("updated", 10, Actual=0.0), NOON), NOON)[1] != []
    assert notified(Route.model_construct(**{**dict(route()), "feeds": ("g",)}), known, NOON)[1] == []
    silenced = route(silences=[{"services": "a|c", "until": "2026-11-23T13:00:00Z"}])
    assert [notified(silenced, known, NOON + minute * MINUTE)[1] for minute in (0, 59, 60)] == [[], [], [("opened", "target")]]
    assert [notified(route(wait="2 minutes"), known, NOON + minute * MINUTE)[1] for minute in (1, 2)] == [
        [],
        [("opened", "target")],
    ]
