"""A table's commits that mean what was seen before them: not where another came between."""

from threading import Thread

import pyarrow as pa
import pytest

from jobs.backends.tables import Table
from jobs.errors import JobError


@pytest.fixture
def table(tmp_path) -> Table:
    return Table(str(tmp_path / "table"), "DayType")


def rows(**value_by_day_type: int):
    """Of day types named d1 to d7."""
    days = [int(name[1:]) for name in value_by_day_type]
    yield pa.record_batch({"DayType": pa.array(days, pa.int32()), "Value": list(value_by_day_type.values())})


def held(table: Table) -> dict[int, int]:
    return {row["DayType"]: row["Value"] for row in table.log().to_pyarrow_table().to_pylist()}


def test_partitions_that_are_not_named_stay(table):
    table.write(rows(d1=1, d2=2), range(1, 8), {"night": 1}, after=-1)
    table.write(rows(d2=22), [2], {"night": 2}, after=0)
    table.commit_note({"night": 3}, after=1)
    assert held(table) == {1: 1, 2: 22}
    assert [commit.note["night"] for commit in table.commits()] == [3, 2, 1]


def test_a_column_that_the_table_lacks_is_added_to_it(table):
    table.write(rows(d1=1), [1], {}, after=-1)
    more = pa.record_batch({"DayType": pa.array([2], pa.int32()), "Value": [2], "Members": [["a"]]})
    table.write(iter([more]), [2], {}, after=0)
    found = sorted(table.log().to_pyarrow_table().to_pylist(), key=lambda row: row["DayType"])
    assert found == [{"DayType": 1, "Value": 1, "Members": None}, {"DayType": 2, "Value": 2, "Members": ["a"]}]


@pytest.mark.parametrize("act", ["write", "copy", "commit_note"])
def test_a_commit_that_came_between_is_neither_overwritten_nor_mixed_with(table, act):
    table.write(rows(d1=1, d2=2), range(1, 8), {}, after=-1)
    before = table.version()
    table.write(rows(d1=9), [1], {"by": "another writer"}, after=before)
    acts = {
        "write": lambda: table.write(rows(d2=3), [2], {}, after=before),
        "copy": lambda: table.copy(table, before, [2], {}, after=before),
        "commit_note": lambda: table.commit_note({}, after=before),
    }
    with pytest.raises(JobError, match="it has changed since it was read, so nothing was written; run this again"):
        acts[act]()
    assert held(table) == {1: 9, 2: 2}
    assert table.commits()[0].note == {"by": "another writer"}


def test_a_commit_that_comes_while_rows_are_computed_is_noticed_too(table):
    table.write(rows(d1=1, d2=2), range(1, 8), {}, after=-1)

    def slowly():
        yield from rows(d2=3)
        other = Thread(target=table.write, args=(rows(d1=9), [1], {"by": "another writer"}, 0))
        other.start()
        other.join()

    with pytest.raises(JobError, match="it has changed since it was read"):
        table.write(slowly(), [2], {}, after=0)
    assert held(table) == {1: 9, 2: 2}


def test_two_first_writers_are_one(table):
    table.write(rows(d1=1), range(1, 8), {}, after=-1)
    with pytest.raises(JobError, match="it has changed since it was read"):
        table.write(rows(d1=2), range(1, 8), {}, after=-1)
    assert held(table) == {1: 1}


def test_a_column_that_an_earlier_release_did_not_know_is_added_and_an_old_version_can_be_restored(table):
    table.write(rows(d1=1, d2=2), range(1, 8), {}, after=-1)
    more = pa.record_batch({"DayType": pa.array([2], pa.int32()), "Value": [3], "Level": pa.array([[0.5]])})
    table.write(iter([more]), [2], {}, after=0)
    found = {row["DayType"]: (row["Value"], row["Level"]) for row in table.dataset(1).to_table().to_pylist()}
    assert found == {1: (1, None), 2: (3, [0.5])}
    table.restore(0, {})
    assert held(table) == {1: 1, 2: 2}
    table.write(iter([more]), [2], {}, after=2)
    assert held(table) == {1: 1, 2: 3}
