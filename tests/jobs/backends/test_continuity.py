"""Whether a reader can go on where it was in a topic, and where it goes on if a person says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.backends.continuity import Position, after_gaps, gaps
from jobs.backends.kafka import Range
from jobs.backends.topics import Topic

ANEW = "topic calls was deleted and made anew: what was not read of the old one is lost"
offsets = st.integers(0, 50)
ranges = st.tuples(offsets, offsets).map(lambda pair: Range(min(pair), max(pair)))


def calls(*ranges_of: Range, made: str = "a") -> Topic:
    return Topic("calls", made, dict(enumerate(ranges_of)))


@pytest.mark.parametrize(
    ("topic", "position", "said", "goes_on"),
    [
        (calls(Range(0, 9)), Position({}), [], {}),
        (calls(Range(0, 9), Range(4, 4)), Position({0: 9, 1: 4}, "a"), [], {0: 9, 1: 4}),
        (calls(Range(0, 9), Range(0, 3)), Position({0: 5}, "a"), [], {0: 5}),
        (calls(Range(0, 9), made="b"), Position({}, "a"), [], {}),
        (calls(Range(0, 9), made="b"), Position({0: 5}), [], {0: 5}),
        (calls(Range(0, 9), Range(0, 2), made="b"), Position({0: 5, 1: 1}, "a"), [ANEW], {0: 0, 1: 0}),
        (calls(Range(3, 9)), Position({0: 5, 1: 1}), [ANEW], {0: 3}),
        (
            calls(Range(8, 9), Range(0, 3)),
            Position({0: 5, 1: 2}, "a"),
            ["topic calls, partition 0: offsets 5 to 7 were deleted before they were read"],
            {0: 8, 1: 2},
        ),
        (
            calls(Range(0, 9), Range(2, 3)),
            Position({0: 9, 1: 20}),
            [
                "topic calls, partition 1: read up to offset 20, but it ends at 3: the brokers have lost records, "
                "or the topic was deleted and made anew"
            ],
            {0: 9, 1: 2},
        ),
    ],
    ids=[
        "nothing read yet",
        "all read",
        "partitions were added",
        "made anew before anything was read",
        "nobody noted the id",
        "made anew",
        "made anew with fewer partitions",
        "expired",
        "it ends before",
    ],
)
def test_a_reader_goes_on_or_what_is_lost_is_said(topic, position, said, goes_on):
    assert gaps(topic, position) == said
    assert after_gaps(topic, position) == goes_on


@given(st.lists(ranges, min_size=1, max_size=3), st.lists(offsets, min_size=1, max_size=3), st.sampled_from(["", "a", "b"]))
def test_all_that_is_there_and_was_not_read_is_read_and_then_the_reader_can_go_on(there, reached, known):
    topic, position = calls(*there), Position(dict(enumerate(reached)), known)
    onward = after_gaps(topic, position)
    for partition, each in topic.ranges.items():
        unread = set(range(each.start, each.end)) - set(range(position.offsets.get(partition, each.start)))
        assert unread <= set(range(onward.get(partition, each.start), each.end))
    assert gaps(topic, Position(onward, topic.id)) == []
