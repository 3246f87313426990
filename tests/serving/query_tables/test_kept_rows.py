"""Rows by key: the same as a plain dict that is sorted for each question."""

from hypothesis import given
from hypothesis import strategies as st

from serving.query_tables.kept_rows import OVERHEAD, KeptRows, Record

KEYS = st.binary(max_size=2)
STEPS = st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=3), st.integers(0, 1), st.integers(0, 5)), max_size=30)
Step = tuple[bytes, bytes | None, int, int]


def put(rows: KeptRows, wanted: dict[bytes, Record], steps: list[Step]) -> None:
    """Puts records of (key, value, partition, time); the n-th has the offset n. wanted: what counts of each key."""
    for number, (key, value, partition, at) in enumerate(steps):
        record, before = Record(value, partition, number, at), wanted.get(key)
        rows.put(key, record)
        if before is None or before.partition == partition or before.at <= at:
            wanted[key] = record


def kept(read: list[Step], followed: list[Step]) -> tuple[KeptRows, dict[bytes, Record]]:
    """The rows after records that were read to the end and others that came later, and what they must be."""
    rows, wanted = KeptRows(), dict[bytes, Record]()
    put(rows, wanted, read)
    rows.settle()
    wanted = {key: each for key, each in wanted.items() if each.value is not None}
    for step in followed:
        put(rows, wanted, [step])
        wanted = {key: each for key, each in wanted.items() if each.value is not None}
        rows.between(b"", None, None, 1)  # what is in order must not stay so
    return rows, wanted


@given(STEPS, STEPS, KEYS, st.none() | KEYS, st.none() | KEYS, st.integers(1, 5))
def test_a_range_is_that_of_all_keys_in_order(read, followed, first, last, after, limit):
    rows, wanted = kept(read, followed)
    there = [key for key in sorted(wanted) if first <= key and (last is None or key <= last) and (after is None or key > after)]
    assert rows.between(first, last, after, limit) == [(key, wanted[key]) for key in there[:limit]]
    assert rows.size == sum(OVERHEAD + len(key) + len(each.value) for key, each in wanted.items())


@given(STEPS, STEPS, KEYS, st.none() | KEYS, st.integers(1, 5))
def test_a_prefix_is_that_of_all_keys_in_order(read, followed, prefix, after, limit):
    rows, wanted = kept(read, followed)
    there = [key for key in sorted(wanted) if key.startswith(prefix) and (after is None or key > after)]
    assert rows.beginning_with(prefix, after, limit) == [(key, wanted[key]) for key in there[:limit]]


@given(STEPS, st.dictionaries(st.integers(0, 1), st.integers(0, 30)))
def test_what_a_partition_no_longer_has_is_gone(read, firsts):
    rows, wanted = kept(read, [])
    rows.forget_before(firsts)
    left = {key: each for key, each in wanted.items() if each.offset >= firsts.get(each.partition, 0)}
    assert rows.between(b"", None, None, 100) == sorted(left.items())


def test_a_key_that_was_deleted_in_a_new_partition_does_not_come_back_by_its_old_record():
    rows = KeptRows()
    rows.put(b"a", Record(None, 1, 0, 20))
    rows.put(b"a", Record(b"old", 0, 7, 10))
    rows.settle()
    assert rows.between(b"", None, None, 10) == []
