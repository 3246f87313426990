"""What `sundial status` says of processes that have ended."""

import pytest

from stack.instance import Instance
from stack.parts import process, status
from tests.support.waiting import until


@pytest.mark.parametrize(("name", "state"), [("live.world-cup", "ended"), ("live", "dead")])
def test_a_sample_that_is_over_is_no_dead_process(tmp_path, name, state):
    instance = Instance(tmp_path).make(base=0)
    process.start(instance, process.Part(name, ["true"], {}, healthy=lambda: True))
    until("its end", lambda: process.find(instance, name) is None)
    (row,) = [row for row in status.rows(instance) if row.name == name]
    assert (row.state, row.pid) == (state, None)
