"""Which offsets are yet to be archived, and in which steps."""

import pytest

from jobs.backends import offset_ledger
from jobs.backends.continuity import Position
from jobs.backends.kafka import Range
from jobs.backends.topics import Topic
from jobs.errors import JobError


def test_steps_advance_in_all_partitions_alike():
    assert offset_ledger.steps({0: Range(0, 10), 1: Range(5, 8)}, 5) == [
        {0: Range(0, 3), 1: Range(5, 6)},
        {0: Range(3, 6), 1: Range(6, 7)},
        {0: Range(6, 10), 1: Range(7, 8)},
    ]
    assert offset_ledger.steps({0: Range(3, 3)}, 5) == []


def test_offsets_that_the_topic_no_longer_holds_stop_the_job():
    lost = Topic("calls", "a", {0: Range(0, 9), 1: Range(10, 20)})
    with pytest.raises(JobError, match=r"topic calls, partition 1: offsets 5 to 9 were deleted before they were read; do this"):
        offset_ledger.pending(lost, Position({1: 5}), "do this")
    there = Topic("calls", "a", {0: Range(3, 9), 1: Range(0, 4)})
    assert offset_ledger.pending(there, Position({1: 2}, "a"), "do this") == {0: Range(3, 9), 1: Range(2, 4)}
