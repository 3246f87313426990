"""How much longer work takes on a busy machine."""

import os

import pytest

from supervision import machine


@pytest.mark.parametrize(
    ("load", "cores", "slowness"), [(0.1, 2, 1.0), (2.0, 2, 1.0), (5.0, 2, 2.5), (16.0, 2, machine.MOST), (16.0, 8, 2.0)]
)
def test_work_takes_longer_by_the_threads_that_share_a_core(monkeypatch, load, cores, slowness):
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)))
    assert machine.slowness() == slowness
