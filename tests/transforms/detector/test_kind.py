"""What kind of series a service has, by its values so far."""

import numpy as np
import pytest

from jobs.transforms.detector import kind as kinds

HERE = np.array([True])


def seen(*values: float) -> kinds.Kind:
    kind = kinds.new_kind(1)
    for value in values:
        kind, _ = kinds.looked_at(kind, np.array([value]), HERE)
        kind = kinds.remembered(kind, kinds.inward(kind, np.array([value])), HERE)
    return kind


@pytest.mark.parametrize(
    ("values", "root", "whole"),
    [((0, 3, 7), True, True), ((0.5, 3), True, False), ((4, -1), False, False), ((-2.5, 9), False, False)],
)
def test_a_kind_follows_from_the_values_and_is_never_taken_back(values, root, whole):
    kind = seen(*values, 5)
    assert (bool(kind.root[0]), bool(kind.whole[0])) == (root, whole)


def test_roots_go_in_and_squares_come_out():
    kind = seen(9)
    assert kinds.inward(kind, np.array([49.0]))[0] == 7
    assert kinds.outward(kind, np.array([7.0]))[0] == 49
    assert kinds.outward(kind, np.array([-1.0]))[0] == 0
    assert kinds.inward(seen(-9), np.array([-49.0]))[0] == -49


def test_the_quantum_is_the_smallest_step_that_was_no_repetition():
    assert seen(-1.0, 2.0, 2.0, 2.25, 8.0).quantum[0] == pytest.approx(0.25)


def test_who_ceases_to_be_a_root_remembers_the_last_value_in_the_unit_of_the_readings():
    kind, ceased = kinds.looked_at(seen(9.0), np.array([-1.0]), HERE)
    assert (bool(ceased[0]), kind.last[0], kind.quantum[0]) == (True, 9.0, np.inf)


@pytest.mark.full
def test_a_missing_reading_changes_nothing():
    before = seen(4, 9)
    kind, ceased = kinds.looked_at(before, np.array([-1.0]), ~HERE)
    assert (kind, bool(ceased[0])) == (before, False)
