"""Maintenance windows: whose readings they concern, and which time counts for a silence."""

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jobs.transforms.maintenance import inside, resumed

PATTERNS = st.sampled_from(["a", "b", ".*"])
WINDOWS = st.lists(st.tuples(PATTERNS, st.integers(0, 30), st.integers(0, 30)), max_size=5)


@given(WINDOWS, st.integers(0, 30), st.integers(0, 40))
def test_as_much_time_has_passed_outside_of_the_windows_as_was_asked_for(windows, at, milliseconds):
    windows = sorted((each for each in windows if each[1] < each[2]), key=lambda each: each[1])

    def counts(instant: int) -> bool:
        return not any(re.fullmatch(pattern, "a") and start <= instant < end for pattern, start, end in windows)

    end = resumed(windows, "a", at, milliseconds)
    assert sum(map(counts, range(at, end))) == milliseconds
    assert end == at or counts(end - 1), "it is the first such time"


@given(WINDOWS, st.lists(st.tuples(st.integers(0, 1), st.integers(0, 30))))
def test_a_reading_is_inside_if_a_window_has_its_time_and_a_pattern_of_its_service(windows, readings):
    names, (service, at) = ["a", "c"], np.array(readings, np.int64).reshape(-1, 2).T
    expected = [
        any(re.fullmatch(pattern, names[of]) is not None and start <= when < end for pattern, start, end in windows)
        for of, when in readings
    ]
    assert inside(windows, names, service, at).tolist() == expected
