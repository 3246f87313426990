"""Rows by key: the same as a plain dict that is sorted for each question."""

from hypothesis import given
from hypothesis import strategies as st

from serving.query_tables.kept_rows import OVERHEAD, KeptRows, Record

KEYS = st.binary(max_size=2)
STEPS = st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=3)), max_size=30)


def kept(steps) -> tuple[KeptRows, dict[bytes, Record]]:
    """The rows after these records, the n-th of which has the offset n, in partition n % 2; and what they must be."""
    rows, wanted = KeptRows(), {}
    for number, (key, value) in enumerate(steps):
        if value is None:
            rows.remove(key)
            wanted.pop(key, None)
        else:
            wanted[key] = Record(value, number % 2, number, 1000 + number)
            rows.put(key, wanted[key])
        rows.between(b"", None, None, 1)  # what is in order must not stay so
    return rows, wanted


@given(STEPS, KEYS, st.none() | KEYS, st.none() | KEYS, st.integers(1, 5))
def test_a_range_is_that_of_all_keys_in_order(steps, first, last, after, limit):
    rows, wanted = kept(steps)
    there = [key for key in sorted(wanted) if first <= key and (last is None or key <= last) and (after is None or key > after)]
    assert rows.between(first, last, after, limit) == [(key, wanted[key]) for key in there[:limit]]
    assert rows.size == sum(OVERHEAD + len(key) + len(each.value) for key, each in wanted.items())


@given(STEPS, KEYS, st.none() | KEYS, st.integers(1, 5))
def test_a_prefix_is_that_of_all_keys_in_order(steps, prefix, after, limit):
    rows, wanted = kept(steps)
    there = [key for key in sorted(wanted) if key.startswith(prefix) and (after is None or key > after)]
    assert rows.beginning_with(prefix, after, limit) == [(key, wanted[key]) for key in there[:limit]]


@given(STEPS, st.integers(0, 1), st.integers(0, 30))
def test_what_a_partition_no_longer_has_is_gone(steps, partition, offset):
    rows, wanted = kept(steps)
    rows.remove_before(partition, offset)
    left = {key: each for key, each in wanted.items() if each.partition != partition or each.offset >= offset}
    assert rows.between(b"", None, None, 100) == sorted(left.items())
