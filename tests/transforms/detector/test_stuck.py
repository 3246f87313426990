"""Values that repeat themselves for longer than ever."""

import numpy as np

from jobs.transforms.detector import kind as kinds
from jobs.transforms.detector import stuck


def runs_of(values: list[float], whole: bool = False) -> tuple[list[int], list[int]]:
    """The positions at which a run is unusual, and those at which it becomes so."""
    kind, runs, found, begun = kinds.new_kind(1)._replace(whole=np.array([whole])), stuck.new_runs(1), [], []
    for row, value in enumerate(values):
        inner = np.array([value])
        runs, is_stuck, sticks = stuck.followed(runs, kind, inner, np.array([float(row)]), np.array([True]))
        kind = kinds.remembered(kind, inner, np.array([True]))
        found += [row] * bool(is_stuck[0])
        begun += [row] * bool(sticks[0])
    return found, begun


def unusual(values: list[float], whole: bool = False) -> list[int]:
    """The positions at which a run becomes unusual."""
    return runs_of(values, whole)[1]


def test_a_run_is_reported_once_when_it_becomes_unusual():
    normal = [float(each % 7) for each in range(150)]
    assert unusual([*normal, *[3.3] * 50]) == [150 + stuck.SHORTEST]


def test_a_run_is_unusual_until_the_value_changes():
    normal = [float(each % 7) for each in range(150)]
    found, _ = runs_of([*normal, *[3.3] * 50, *normal])
    assert found == list(range(150 + stuck.SHORTEST, 200))


def test_a_run_that_began_in_a_young_service_is_unusual_as_soon_as_the_service_is_known():
    normal = [float(each % 7) for each in range(60)]
    assert unusual([*normal, *[3.3] * 100]) == [stuck.KNOWN + 1]


def test_a_service_with_one_value_is_not_stuck():
    assert runs_of([1.0] * 500) == ([], [])


def test_runs_as_long_as_earlier_ones_are_usual():
    plateaus = [float(each // 10) for each in range(200)]
    assert unusual(plateaus) == []
    longest = 9  # repetitions
    assert unusual([*plateaus, *[77.0] * 60]) == [200 + int(np.ceil(stuck.TIMES * longest + stuck.MORE))]


def test_a_young_service_and_a_counts_zeros_are_not_stuck():
    assert unusual([1.0] * 50) == []
    busy = [float(1 + each % 7) for each in range(150)]
    assert unusual([*busy, *[0.0] * 50], whole=True) == []
    assert unusual([*busy, *[0.0] * 50]) != []
