"""Silence: noticed by the clock, once, and over with the next reading."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jobs.transforms.detector.silence import KNOWN, listened
from jobs.transforms.detector.walk import Readings

SECOND = 1000
INTERVAL = 10 * SECOND
AGE = 2000  # intervals
NAMES = ["a", "b"]


def of(*each: tuple[int, int]) -> Readings:
    """Readings (service, number of the interval), each with the number as its value."""
    service, number = np.array([*each], np.int64).reshape(-1, 2).T
    return Readings(service, number * INTERVAL, number * INTERVAL, np.zeros(len(number), bool), number.astype(float))


def heard(*each: tuple[int, int], clock: int | None = None, patience=(3, 3), before=None):
    """(what is known, events as (state, service, number of the interval at which, onset's number))."""
    newest = max([number for _, number in each], default=0) if clock is None else clock
    known, events = listened(before or {}, NAMES, of(*each), newest * INTERVAL, INTERVAL, np.array(patience), AGE * INTERVAL)
    return known, [(one.state, one.service, one.at // INTERVAL, one.onset // INTERVAL) for one in events]


ALL = [(0, number) for number in range(KNOWN)]
END = KNOWN - 1


def test_a_service_is_silent_after_so_many_intervals_by_the_clock_of_its_feed():
    known, events = heard(*ALL)
    assert events == []
    known, events = heard((1, END + 3), before=known)
    assert events == []
    known, events = heard((1, END + 4), before=known)
    assert events == [("opened", "a", END + 4, END + 1)]
    assert known["a"].value == END
    known, events = heard((1, END + 9), before=known)
    assert events == [], "it is emitted once"
    _, events = heard((0, END + 20), before=known, patience=(3, 0))
    assert events == [("closed", "a", END + 20, END + 1)]


def test_the_clock_goes_on_without_readings():
    known, _ = heard(*ALL)
    _, events = heard(clock=END + 4, before=known)
    assert events == [("opened", "a", END + 4, END + 1)]


def test_a_gap_that_is_over_is_emitted_as_well():
    _, events = heard(*ALL, (0, END + 30), (0, END + 31))
    assert events == [("opened", "a", END + 4, END + 1), ("closed", "a", END + 30, END + 1)]


def counts(*each: tuple[int, int], clock: int, patience=(3, 3), before=None):
    known, events = listened(before or {}, NAMES, of(*each), clock * INTERVAL, INTERVAL, np.array(patience), AGE * INTERVAL)
    return known, [(one.state, one.at // INTERVAL, one.silent, one.known) for one in events]


def test_an_event_says_how_many_services_are_silent_and_how_many_can_be():
    both = [*ALL, *[(1, number) for number in range(2 + KNOWN)]]
    known, events = counts(*both, clock=END + 4)
    assert events == [("opened", END + 4, 1, 2)]
    known, events = counts(clock=END + 9, before=known)
    assert events == [("opened", END + 6, 2, 2)]
    _, events = counts((0, END + 20), clock=END + 20, before=known)
    assert events == [("closed", END + 20, 1, 2)]
    assert counts(*both, clock=END + 9, patience=(3, 0))[1] == [("opened", END + 4, 1, 1)]
    assert counts(*ALL, *both[KNOWN : 2 * KNOWN - 1], clock=END + 4)[1] == [("opened", END + 4, 1, 1)], "one is new"


def test_a_short_gap_is_none():
    assert heard(*ALL, (0, END + 4), patience=(4, 4))[1] == []


def test_a_new_service_and_one_without_patience_are_never_silent():
    assert heard(*ALL[:-1], clock=1000)[1] == []
    assert heard(*ALL, clock=1000, patience=(0, 3))[1] == []


def test_a_service_is_forgotten_at_last_and_its_silence_is_over():
    known, events = heard(*ALL, (1, END + AGE - 1))
    assert events == [("opened", "a", END + 4, END + 1)]
    known, events = counts((1, END + AGE), clock=END + AGE, before=known)
    assert events == [("closed", END + AGE, 0, 0)]
    assert known.keys() == {"b"}
    known, events = heard((0, END + AGE + 1), clock=END + AGE + 99, before=known)
    assert events == [], "it is new again"
    assert known["a"].readings == 1


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 60)), min_size=1, max_size=60, unique=True), st.integers(0, 60))
def test_events_do_not_depend_on_when_one_looks(came, cut):
    came = sorted(came, key=lambda each: each[1])
    end = max(number for _, number in came)
    _, whole = counts(*came, clock=end)
    before = [each for each in came if each[1] <= cut]
    known, first = counts(*before, clock=max([number for _, number in before], default=0))
    _, rest = counts(*[each for each in came if each[1] > cut], clock=end, before=known)
    assert sorted(first + rest) == sorted(whole)
