"""Where generations begin and what they cover: nothing is skipped, whatever lags, ends or is killed, and at whichever moment."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from jobs.backends.continuity import Position
from jobs.streams.generations import Generations, Stretch, begin_of_next, covered, has_reached

PARTITIONS = st.integers(0, 3)


class Stream(RuleBasedStateMachine):
    """A topic, the generations that score it, and a driver that is killed now and then. `scored` is what has gone out for good:
    what a killed query had read but not committed may have gone out, and does not count."""

    def __init__(self):
        super().__init__()
        self.ends = {0: 0, 1: 0}
        self.firsts = {0: 0, 1: 0}
        self.stretches: list[Stretch] = []  # of the generations on disk, oldest first
        self.read: list[dict[int, int]] = []  # how far their queries have read; of running ones only
        self.scored: dict[int, set[int]] = {}
        self.origin: dict[int, int] | None = None

    @rule(partition=PARTITIONS, count=st.integers(1, 5))
    def produce(self, partition, count):
        if partition in self.ends:
            self.ends[partition] += count

    @rule()
    def add_a_partition(self):
        if len(self.ends) < 4:
            self.firsts[len(self.ends)] = self.ends[len(self.ends)] = 0

    @precondition(lambda self: not self.read)
    @rule()
    def start_a_driver(self):
        known = covered(self.stretches)
        begin = self.firsts | known if known else dict(self.ends)
        self.origin = self.origin or dict(self.ends)
        self.stretches = [Stretch(begin, begin)]
        self.read = [dict(begin)]

    @precondition(lambda self: len(self.read) == 1)
    @rule()
    def start_the_next(self):
        begin = begin_of_next(self.ends, self.firsts, self.stretches[0].begin)
        self.stretches.append(Stretch(begin, begin))
        self.read.append(dict(begin))

    @precondition(lambda self: self.read)
    @rule(which=st.integers(0, 1), partition=PARTITIONS, count=st.integers(1, 9))
    def query_reads(self, which, partition, count):
        read = self.read[which % len(self.read)]
        if partition in read:
            read[partition] = min(read[partition] + count, self.ends[partition])

    @precondition(lambda self: self.read)
    @rule(which=st.integers(0, 1))
    def query_commits(self, which):
        which %= len(self.read)
        begin, read = self.stretches[which].begin, dict(self.read[which])
        self.stretches[which] = Stretch(begin, read)
        for partition, offset in read.items():
            self.scored.setdefault(partition, set()).update(range(begin[partition], offset))

    @precondition(lambda self: len(self.read) == 2)
    @rule()
    def hand_over(self):
        if has_reached(self.stretches[0].reached, self.stretches[1].begin):
            del self.stretches[0], self.read[0]

    @precondition(lambda self: self.read)
    @rule()
    def kill_the_driver(self):
        self.read = []

    @invariant()
    def nothing_is_skipped(self):
        """All before what the next driver would begin with is scored."""
        for partition, offset in covered(self.stretches).items():
            begun = (self.origin or {}).get(partition, 0)
            assert set(range(begun, offset)) <= self.scored.get(partition, set())


TestStream = Stream.TestCase


def test_a_gap_between_two_generations_is_not_covered():
    first, second = Stretch({0: 5, 1: 7}, {0: 9, 1: 20}), Stretch({0: 10, 1: 20}, {0: 30, 1: 25})
    assert covered([first, second]) == {0: 9, 1: 25}
    assert covered([]) == {}


def test_a_partition_that_was_added_is_read_from_its_beginning():
    assert begin_of_next({0: 9, 1: 4}, {0: 2, 1: 1}, [0]) == {0: 9, 1: 1}
    assert covered([Stretch({0: 5}, {0: 9}), Stretch({0: 9, 1: 1}, {0: 9, 1: 3})]) == {0: 9, 1: 3}


def committed(folder: Path, offset: int) -> None:
    for kind, text in (("offsets", f'v1\n{{}}\n{{"calls":{{"0":{offset}}}}}'), ("commits", "v1\n{}")):
        (folder / kind).mkdir()
        (folder / kind / "0").write_text(text)


def test_generations_on_disk_are_there_as_a_whole_or_not_at_all(tmp_path):
    generations = Generations(tmp_path, "calls")
    assert generations.position("calls") == Position({}, "")
    first = generations.begin_anew({0: 5}, "id-1")
    second = generations.new({0: 8}, "id-1")
    assert [(each.number, each.begin, each.topic_id) for each in generations.all()] == [(1, {0: 5}, "id-1"), (2, {0: 8}, "id-1")]
    assert generations.position("calls") == Position({0: 5}, "id-1")
    committed(first.folder, 8)
    committed(second.folder, 12)
    assert generations.position("calls") == Position({0: 12}, "id-1")
    generations.keep_only(second)
    assert [each.number for each in generations.all()] == [2]
    (tmp_path / ".4").mkdir()  # of a driver that was killed while it made it
    third = generations.begin_anew({0: 2}, "id-2")
    assert [each.number for each in generations.all()] == [3]
    assert (third.begin, generations.position("calls")) == ({0: 2}, Position({0: 2}, "id-2"))
    assert [each.name for each in tmp_path.iterdir()] == ["3"]


def test_a_damaged_file_of_topic_ids_hides_no_generation(tmp_path):
    generations = Generations(tmp_path, "calls")
    first = generations.begin_anew({0: 5}, "id-1")
    second = generations.new({0: 8}, "id-1")
    committed(first.folder, 9)
    (second.folder / "topics.json").write_text('{"cal')
    assert generations.position("calls") == Position({0: 9}, "id-1")


def test_the_checkpoint_of_an_earlier_release_is_gone_on_from(tmp_path):
    committed(tmp_path, 12)
    (tmp_path / "metadata").write_text('{"id":"6a0c"}')
    (tmp_path / "topics.json").write_text('{"calls":"id-1"}')
    generations = Generations(tmp_path, "calls")
    for _ in range(2):
        generations.adopt()
        assert generations.position("calls") == Position({0: 12}, "id-1")
        assert [each.name for each in tmp_path.iterdir()] == ["1"]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("renames", range(4))
def test_a_kill_while_older_generations_go_leaves_no_gap_out(tmp_path, monkeypatch, renames):
    """The first generation has reached 100, and one that was to take over begins at 150."""
    generations = Generations(tmp_path, "calls")
    committed(generations.begin_anew({0: 5}, "id-1").folder, 100)
    generations.new({0: 150}, "id-1")
    done, rename = [], Path.rename

    def killed(path: Path, target: Path) -> Path:
        if len(done) == renames:
            raise Killed
        done.append(target)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", killed)
    with contextlib.suppress(Killed):
        generations.begin_anew(generations.position("calls").offsets, "id-1")
    assert generations.position("calls") == Position({0: 100}, "id-1")


def test_offsets_of_a_topic_that_was_made_anew_are_no_others(tmp_path):
    generations = Generations(tmp_path, "calls")
    committed(generations.begin_anew({0: 5}, "id-1").folder, 1000)
    generations.new({0: 0}, "id-2")  # and the driver was killed before the older one was gone
    assert generations.position("calls") == Position({0: 0}, "id-2")


def test_a_generation_of_an_older_release_does_not_know_its_topic_and_counts(tmp_path):
    generations = Generations(tmp_path, "calls")
    committed(generations.begin_anew({0: 5}, "").folder, 100)
    generations.new({0: 150}, "id-1")
    assert generations.position("calls") == Position({0: 100}, "id-1")
