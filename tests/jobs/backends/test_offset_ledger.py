"""Which offsets are yet to be archived, and in which steps."""

import pytest

from jobs.backends import offset_ledger
from jobs.backends.kafka import Range
from jobs.errors import JobError


def test_steps_advance_in_all_partitions_alike():
    assert offset_ledger.steps({0: Range(0, 10), 1: Range(5, 8)}, 5) == [
        {0: Range(0, 3), 1: Range(5, 6)},
        {0: Range(3, 6), 1: Range(6, 7)},
        {0: Range(6, 10), 1: Range(7, 8)},
    ]
    assert offset_ledger.steps({0: Range(3, 3)}, 5) == []


def test_offsets_that_the_topic_no_longer_holds_stop_the_job():
    of_calls = ("calls", "schemas/feeds/calls.yaml")
    with pytest.raises(JobError, match=r"topic calls, partition 1: offsets 5 to 9 were deleted .* in schemas/feeds/calls[.]yaml"):
        offset_ledger.pending({0: Range(0, 9), 1: Range(10, 20)}, {1: 5}, *of_calls)
    with pytest.raises(JobError, match="archived up to offset 30, but the topic ends at 20"):
        offset_ledger.pending({0: Range(0, 20)}, {0: 30}, *of_calls)
    assert offset_ledger.pending({0: Range(3, 9), 1: Range(0, 4)}, {1: 2}, *of_calls) == {0: Range(3, 9), 1: Range(2, 4)}
