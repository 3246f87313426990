"""Incidents of a stream: the events of a walk through all readings at once, however these come in batches; and silence."""

import pytest

from jobs.transforms.incident_groups import GroupRule
from tests.support.seed import chance
from tests.transforms.half_hours import HALF_HOUR, MANY, SILENCE, events_of, half_hours
from tests.transforms.incident_streams import MONDAY, PAIR, Known, Stream, in_order, known_after, known_services


@pytest.mark.parametrize("batches", [1, 6, 25])
def test_a_stream_comes_to_the_events_of_one_walk(batches):
    rows, stream = half_hours(), Stream()
    cuts = sorted(chance(f"cuts {batches}").sample(range(590, 760), batches - 1))
    for first, end in zip([0, *cuts], [*cuts, MANY], strict=True):
        stream.batch(*[each for each in rows if first <= each[1] < end])
    wanted = events_of(rows, MONDAY)
    assert {"deviation closed", "silence opened", "silence closed"} <= {f"{each['Kind']} {each['State']}" for each in wanted}
    assert in_order(stream.events) == in_order(wanted)


@pytest.mark.parametrize("begin", [0, 550, 600])
def test_a_stream_that_takes_up_what_a_night_knew_goes_on_as_one_walk_does(begin):
    rows, pair = half_hours(), GroupRule(2, 2 * HALF_HOUR)
    stream = Stream(known_after([each for each in rows if each[1] < 600], pair), group=PAIR)
    stream.batch(*[each for each in rows if begin <= each[1] < 620])
    stream.batch(*[each for each in rows if each[1] >= 620])
    midnight = MONDAY + 599 * HALF_HOUR  # the newest reading that the night knew
    wanted = [each for each in events_of(rows, MONDAY, pair) if each["At"] > midnight]
    assert len(wanted) > 3
    assert in_order(stream.events) == in_order(wanted)


def test_a_state_that_means_something_else_is_not_gone_on_with():
    """After a new release, say: it begins with what the night knew by the new formulas, and without a night from nothing."""
    rows, night = half_hours(), 600
    before = [each for each in rows if each[1] < night]
    for known in (known_after(before), Known()):
        stream, fresh = Stream(known), Stream(known)
        stream.batch(*[("a", number, 1e6) for number in range(night + 10)])
        state = stream.tester.peekMapState("services", "calls")
        stream.tester.updateMapState("services", "calls", {name: (each[0][:-8], "{}") for name, each in state.items()})
        stream.tester.updateValueState("how", "calls", ("of another release",))
        stream.events.clear()
        for each in (stream, fresh):
            each.batch(*[row for row in rows if night <= row[1]])
        assert fresh.events
        assert in_order(stream.events) == in_order(fresh.events)
        assert stream.tester.peekValueState("how", "calls") == ("now",)


def test_what_is_left_of_a_feed_that_is_gone_ends_with_its_timer():
    stream = Stream()
    stream.clock(20)
    stream.batch(*[("a", number, 10.0) for number in range(20)])
    stream.feeds.clear()
    stream.clock(21 + SILENCE)
    assert stream.events == []
    assert known_services(stream) == []
    stream.clock(40)


def test_what_no_reading_covers_is_no_silence():
    """The topic begins long after the night's last reading: nobody knows who was silent meanwhile."""
    known = known_after([(name, number, 10.0) for number in range(20) for name in ("a", "b")])
    covered, gap = Stream(known), Stream(known)
    covered.batch(("a", 20, 10.0), ("a", 40, 10.0))
    assert ("b", "silence", "opened") in [(each["ServiceName"], each["Kind"], each["State"]) for each in covered.events]
    gap.batch(*[("a", number, 10.0) for number in range(40, 60)])
    assert gap.events == []
    gap.batch(("b", 60, 10.0), *[("a", number, 10.0) for number in range(60, 80)])
    assert gap.events == []
    gap.batch(("b", 100, 10.0))
    assert [(each["ServiceName"], each["State"]) for each in gap.events] == [("a", "opened")]


def test_groups_of_a_stream_are_those_of_one_walk():
    rows, stream = half_hours(), Stream(group=PAIR)
    for first, end in [(0, 581), (581, 582), (582, 600), (600, MANY)]:
        stream.batch(*[each for each in rows if first <= each[1] < end])
    wanted = events_of(rows, MONDAY, GroupRule(2, 2 * HALF_HOUR))
    assert [each["State"] for each in wanted if each["Kind"] == "group"] == ["opened", "closed"]
    assert in_order(stream.events) == in_order(wanted)


def test_what_comes_twice_or_late_changes_nothing():
    rows, stream = half_hours(), Stream()
    stream.batch(*[each for each in rows if each[1] < 700])
    emitted = len(stream.events)
    stream.batch(*[each for each in rows if 690 <= each[1] < 700], ("a", 601, 99_999.0))
    assert len(stream.events) == emitted
    stream.batch(*[each for each in rows if each[1] >= 700])
    assert in_order(stream.events) == in_order(events_of(rows, MONDAY))


def test_of_two_readings_of_one_time_the_later_record_counts():
    one, two = Stream(), Stream()
    one.batch(*[("a", number, 10.0) for number in range(20)], ("a", 20, 3.0))
    two.batch(*[("a", number, 10.0) for number in range(20)], ("a", 20, 999.0), ("a", 20, 3.0))
    assert one.events == two.events


def test_a_feed_that_falls_silent_is_noticed_by_the_clock_and_emitted_once():
    """The query gets the newest reading at its end, so the feed's clock is an interval behind that of the machine."""
    stream, clear = Stream(), 20 + SILENCE
    stream.clock(20)
    stream.batch(*[("a", number, 10.0) for number in range(20)])
    stream.clock(clear + 1, milliseconds=-1)
    assert stream.events == []
    stream.clock(clear + 1)
    [event] = stream.events
    assert (event["Kind"], event["State"], event["ServiceName"]) == ("silence", "opened", "a")
    assert event["At"] == MONDAY + clear * HALF_HOUR
    for number in (clear + 2, clear + 3, 40):
        stream.clock(number)
    assert stream.events == [event]
    assert event["Id"] == "a@2025-06-02T10:00:00Z"
    assert event["Start"] == MONDAY + 20 * HALF_HOUR
    assert event["Cause"] == "no reading since 2025-06-02T09:30:00Z, whose value was 10"
    stream.batch(("a", 50, 10.0))
    assert [each["State"] for each in stream.events if each["Kind"] == "silence"] == ["opened", "closed"]
    assert stream.events[-1]["Id"] == event["Id"]
    assert stream.events[-1]["End"] == MONDAY + 50 * HALF_HOUR


def test_a_feed_whose_services_all_fall_silent_is_one_group():
    stream = Stream(group={"services": 3, "within": 3})
    stream.clock(20)
    stream.batch(*[(name, number, 10.0) for number in range(20) for name in ("a", "b")], ("b", 20, 11.0))
    for number in range(20 + SILENCE, 30):
        stream.clock(number)
    assert [(each["ServiceName"], each["State"], each["Group"]) for each in stream.events] == [
        ("a", "opened", None),
        ("*", "opened", None),
        ("a", "updated", "*@2025-06-02T10:00:00Z"),
        ("b", "opened", "*@2025-06-02T10:00:00Z"),
    ]
    assert stream.events[1]["Cause"] == (
        "the feed is silent: 2 silent; last of all b: no reading since 2025-06-02T10:00:00Z, whose value was 11"
    )
    stream.batch(("a", 31, 10.0), ("b", 31, 10.0))
    assert [each["State"] for each in stream.events if each["Kind"] == "group"] == ["opened", "closed"]


def test_a_service_that_is_gone_for_good_is_forgotten():
    stream = Stream()
    stream.batch(*[("a", number, 10.0) for number in range(20)], ("b", 0, 10.0))
    assert known_services(stream) == ["a", "b"]
    stream.batch(("c", 56 * 48 + 10, 10.0))
    assert known_services(stream) == ["a", "c"]
    stream.batch(("c", 56 * 48 + 20, 10.0))
    assert known_services(stream) == ["c"]
    assert [(each["State"], each["At"]) for each in stream.events] == [
        ("opened", MONDAY + 24 * HALF_HOUR),
        ("closed", MONDAY + (19 + 56 * 48) * HALF_HOUR),
    ]


def test_a_retired_service_leaves_nothing_behind():
    stream = Stream(retired=("b",))
    stream.batch(*half_hours())
    assert known_services(stream) == ["a"]
    assert {each["ServiceName"] for each in stream.events} == {"a"}


def test_old_readings_are_no_silence_however_late_it_is():
    stream = Stream()
    stream.clock(10_000)
    stream.batch(*[("a", number, 10.0) for number in range(20)], taken=10_000)
    stream.clock(20_000)
    assert stream.events == []


def test_a_silence_is_noticed_once_the_query_has_caught_up_however_late_it_is():
    """The broker took the readings when they were over; the query stood still, and catches up in two batches."""
    stream = Stream()
    stream.clock(1000)
    stream.batch(*[("a", number, 10.0) for number in range(20)])
    stream.clock(1000 + SILENCE)
    stream.batch(*[("a", number, 10.0) for number in range(20, 40)])
    stream.clock(1000 + 2 * SILENCE)
    assert stream.events == []
    for number in (1001 + 2 * SILENCE, 1002 + 2 * SILENCE, 3000):
        stream.clock(number)
    [event] = stream.events
    assert (event["Kind"], event["State"], event["Start"]) == ("silence", "opened", MONDAY + 40 * HALF_HOUR)


@pytest.mark.parametrize("taken", [None, 1000])
def test_a_feed_that_is_silent_when_the_query_begins_is_noticed_unless_its_readings_were_old_when_they_came(taken):
    """The night knew all that the topic has."""
    rows = [("a", number, 10.0) for number in range(40)]
    stream = Stream(known_after(rows))
    stream.clock(1000)
    stream.batch(*rows[:30], taken=taken)
    stream.clock(1010)
    assert stream.events == []
    stream.batch(*rows[30:], taken=taken)
    stream.clock(1010 + SILENCE)
    assert stream.events == []
    stream.batch(*rows[30:], taken=1015)  # sent once more: that is no news
    stream.clock(1011 + SILENCE)
    stream.clock(3000)
    assert [(each["Kind"], each["Start"]) for each in stream.events] == ([] if taken else [("silence", MONDAY + 40 * HALF_HOUR)])


@pytest.mark.parametrize("off", [{"score": None, "percent": 50.0}, {"score": 1.0, "minimum": 1e9}])
def test_the_rule_is_the_feeds(off):
    rows, stream = half_hours(), Stream(silence=None, **off)
    stream.batch(*rows)
    assert bool(stream.events) == ("percent" in off)


@pytest.mark.parametrize("batches", [1, 25])
def test_a_maintenance_window_has_no_incidents_however_its_readings_come(batches):
    """The surge of a lies in the window, the outage of b does not; a's window does not concern b."""
    rows = half_hours()
    window = ("a", MONDAY + 695 * HALF_HOUR, MONDAY + 710 * HALF_HOUR)
    stream = Stream(windows=(window,))
    cuts = sorted(chance(f"window {batches}").sample(range(590, 760), batches - 1))
    for first, end in zip([0, *cuts], [*cuts, MANY], strict=True):
        stream.batch(*[each for each in rows if first <= each[1] < end])
    kept = [row for row in rows if not (row[0] == "a" and 695 <= row[1] < 710)]
    wanted = [each for each in events_of(kept, MONDAY) if each["Kind"] == "deviation"]
    assert [each for each in stream.events if each["Kind"] == "deviation"] == wanted
    assert {each["ServiceName"] for each in stream.events if each["Kind"] == "silence"} == {"b"}


def test_a_feed_that_falls_silent_in_a_window_is_silent_when_the_window_is_over():
    """By the clock of the machine: no reading comes. The window takes 20 half hours from the one after the last reading on."""
    stream = Stream(windows=((".*", MONDAY + 101 * HALF_HOUR, MONDAY + 121 * HALF_HOUR),))
    stream.clock(100)
    stream.batch(*[("a", number, 10.0) for number in range(101)])
    stream.clock(101 + SILENCE)
    stream.clock(119 + SILENCE)
    assert stream.events == []
    stream.clock(121 + SILENCE)
    assert [(each["Kind"], each["State"]) for each in stream.events] == [("silence", "opened")]
