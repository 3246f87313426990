"""Which readings ranges exclude, and what of them lies in a day."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jobs.transforms.detector.walk import Readings
from jobs.transforms.excluded import inside, within

TIMES = st.integers(0, 20)
NAMES = ["b", "a"]
SERVICES = st.sampled_from(NAMES)
RANGES = st.lists(st.tuples(st.none() | SERVICES, TIMES, TIMES), max_size=4)
READINGS = st.lists(st.tuples(SERVICES, TIMES), max_size=20)


def excludes(each, service: str, at: int) -> bool:
    return each[0] in (None, service) and each[1] <= at < each[2]


@given(RANGES, READINGS)
def test_a_reading_is_left_out_if_one_range_has_its_service_and_its_time(ranges, readings):
    at = np.array([at for _, at in readings], np.int64)
    of = np.array([NAMES.index(service) for service, _ in readings], np.int64)
    found = inside(ranges, NAMES, Readings(of, at, at, np.zeros(len(of), bool), np.ones(len(of))))
    assert found.tolist() == [any(excludes(each, *reading) for each in ranges) for reading in readings]


@given(RANGES, READINGS, TIMES, TIMES)
def test_what_lies_within_excludes_the_same_readings_of_that_time_and_none_else(ranges, readings, start, end):
    cut = within(ranges, start, end)
    for service, at in readings:
        wanted = start <= at < end and any(excludes(each, service, at) for each in ranges)
        assert any(excludes(each, service, at) for each in cut) == wanted


def test_the_same_ranges_in_another_order_or_twice_are_the_same_list():
    ranges = [("b", 1, 9), (None, 3, 5), ("a", 0, 30), ("a", 40, 50)]
    assert within(ranges, 2, 20) == [(None, 3, 5), ("a", 2, 20), ("b", 2, 9)]
    assert within([*reversed(ranges), ("a", 1, 25)], 2, 20) == within(ranges, 2, 20)
