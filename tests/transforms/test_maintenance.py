"""Maintenance windows: whose readings they concern, and which time counts for a silence."""

import re

from hypothesis import given
from hypothesis import strategies as st

from jobs.transforms.maintenance import ranges, resumed

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


@given(WINDOWS, st.integers(0, 30), st.integers(0, 30))
def test_the_ranges_of_services_are_those_of_the_windows_whose_pattern_matches(windows, first, last):
    windows = [each for each in windows if each[1] < each[2]]
    found = ranges(windows, ["a", "c"], first, last)
    for name in ("a", "b", "c"):
        for at in range(first, last + 1):
            expected = name != "b" and any(re.fullmatch(pattern, name) and start <= at < end for pattern, start, end in windows)
            assert any(service == name and start <= at < end for service, start, end in found) == expected
