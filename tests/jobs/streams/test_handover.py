"""When queries take turns and when not, by a scripted clock, broker and queries; the generations are real."""

from dataclasses import replace

import pytest

from jobs.errors import JobError
from jobs.formats.wire import Writers
from jobs.streams.handover import BEHIND, CATCH_UP, COLD_LEAD, LEAST_LEAD, PLANNED, STUCK
from jobs.streams.score_query import Plan
from tests.jobs.streams.scripted import BATCH, PLAN, Stream


@pytest.fixture
def stream(tmp_path, monkeypatch) -> Stream:
    return Stream(tmp_path / "checkpoint", monkeypatch)


def test_the_next_query_begins_before_the_batch_ends_and_takes_over_when_that_is_committed(stream):
    first = stream.begin()
    stream.look(BATCH - COLD_LEAD - 0.1)
    assert len(stream.queries) == 1
    stream.end = 150
    stream.look(0.1)
    following = stream.queries[1]
    assert following.generation.begin == {0: 150}
    stream.look(COLD_LEAD)
    assert (stream.in_force, first.isActive) == (1, True), "it has not committed yet"
    first.commits(155)
    stream.look()
    assert (stream.in_force, first.isActive, following.isActive) == (2, False, True)
    assert stream.generations.all() == [following.generation]


def test_the_next_query_does_not_take_over_before_it_works(stream):
    first = stream.begin()
    stream.look(BATCH - COLD_LEAD)
    stream.queries[1].works = False
    first.commits(100)
    stream.look(COLD_LEAD)
    assert (stream.in_force, first.isActive) == (1, True)
    stream.queries[1].works = True
    stream.look()
    assert stream.in_force == 2


def test_a_batch_ends_by_when_it_was_planned_even_if_its_tasks_began_later(stream):
    first = stream.begin()
    stream.look(BATCH - COLD_LEAD)
    stream.queries[1].works = False
    stream.look(0.5)
    first.commits(100)
    stream.look(7.5)
    stream.queries[1].works = True
    stream.look()
    assert stream.in_force == 2
    lead = 2 * 8.0
    stream.look(BATCH - 7.5 - lead - 0.1)
    assert len(stream.queries) == 2
    stream.look(0.1)
    assert len(stream.queries) == 3


def waits(stream: Stream, *stops: bool) -> tuple[bool, list[float]]:
    """Whether a stop was requested, and how long the driver was asked to wait each time. stops: what the driver answers."""
    asked, answers = [], iter(stops)

    def wait(seconds: float) -> bool:
        asked.append(seconds)
        return next(answers, False)

    return stream.handover.wait(wait), asked


def test_looks_are_close_only_when_the_first_query_is_about_to_end(stream):
    stream.begin()
    stream.end += 1
    stream.look(BATCH - COLD_LEAD - 0.1)
    waited = [waits(stream)]
    for after in (0.1, COLD_LEAD - 2.1):
        stream.look(after)
        waited.append(waits(stream))
    assert waited == [(False, [1.0]), (False, [0.5]), (False, [0.5])]
    for after in (0.1, 30.0):
        stream.look(after)
        stopped, asked = waits(stream)
        assert (stopped, set(asked), sum(asked)) == (False, {0.005}, pytest.approx(0.05))


def test_a_commit_of_the_first_query_is_seen_at_once(stream):
    first = stream.begin()
    stream.end = 150
    stream.look(BATCH - COLD_LEAD)
    stream.look(COLD_LEAD)
    first.commits(149)
    assert len(waits(stream)[1]) == 10, "the next one begins at 150"
    first.commits(150)
    assert waits(stream) == (False, [0.005])
    stream.queries[1].isActive = False
    assert stream.look().generation.number == 2, "it was stopped before anything else was asked"
    assert not first.isActive


def test_a_stop_ends_the_wait_for_a_commit(stream):
    stream.begin()
    stream.end += 1
    stream.look(BATCH - COLD_LEAD)
    stream.look(COLD_LEAD)
    assert waits(stream, False, True) == (True, [0.005, 0.005])


def test_a_stream_that_is_behind_does_not_hand_over_until_it_keeps_up(stream):
    stream.begin()
    stream.keeps_up = False
    stream.look(BATCH - 1)
    assert (len(stream.queries), stream.handover.failure) == (1, None)
    stream.keeps_up = True
    stream.look(0.5)
    assert len(stream.queries) == 2, "in the same batch"


def test_a_silent_broker_hinders_a_handover_which_the_next_batch_tries_again(stream):
    first = stream.begin()
    stream.silent = True
    stream.look(BATCH - 1)
    assert (len(stream.queries), first.isActive) == (1, True)
    assert stream.handover.failure == "no handover: JobError: Kafka does not answer"
    stream.silent = False
    stream.look(0.5)
    assert len(stream.queries) == 1, "it is tried once in a batch"
    first.commits(100)
    stream.look(0.5)
    stream.look(BATCH - COLD_LEAD)
    assert (len(stream.queries), stream.handover.failure) == (2, None)


def test_a_next_query_that_fails_is_dropped_and_the_next_batch_tries_again(stream):
    first = stream.begin()
    stream.look(BATCH - 1)
    stream.queries[1].fail(RuntimeError("no memory"))
    assert stream.look() is None
    assert (stream.handover.next, stream.handover.failure) == (None, "no handover: no memory")
    assert (stream.generations.all(), first.isActive) == ([first.generation], True)
    first.commits(100)
    stream.look(1)
    stream.look(BATCH - COLD_LEAD)
    assert len(stream.queries) == 3
    stream.queries[2].works = True
    first.commits(100)
    stream.look(COLD_LEAD)
    assert stream.in_force == 2, "its number is free again"


def test_the_query_in_force_that_fails_is_returned(stream):
    stream.begin().fail(RuntimeError("no memory"))
    assert stream.look() is stream.handover.running


def test_a_batch_that_never_ends_is_an_error(stream):
    stream.begin()
    stream.end += 1
    stream.look(BATCH - 1)
    stream.look(1 + STUCK - 0.1)
    with pytest.raises(JobError, match="generation 1 has not ended its batch 60 s after its time"):
        stream.look(0.1)


@pytest.mark.parametrize(("took", "lead"), [(8.0, 16.0), (4.0, LEAST_LEAD), (20.0, 40.0)])
def test_the_lead_is_twice_what_the_query_before_took_to_begin_and_no_less_than_ten_seconds(stream, took, lead):
    first = stream.begin()
    stream.look(BATCH - COLD_LEAD)
    stream.queries[1].works = False
    stream.look(took)
    stream.queries[1].works = True
    first.commits(100)
    live = stream.at
    stream.look()
    assert stream.in_force == 2
    stream.look(live + BATCH - lead - 0.1 - stream.at)
    assert len(stream.queries) == 2
    stream.look(0.1)
    assert len(stream.queries) == 3


def promoted(stream: Stream) -> Plan:
    stream.plan = replace(stream.plan, baseline_version=stream.plan.baseline_version + 1)
    return stream.plan


def second(stream: Stream) -> None:
    """A second query that began at once, so that the third needs the least lead only, and whose batch has begun now."""
    stream.begin()
    stream.look(BATCH - COLD_LEAD)
    stream.queries[0].commits(100)
    stream.look()
    assert stream.in_force == 2


def test_a_promoted_baseline_is_read_before_the_next_query_starts(stream):
    second(stream)
    plan = promoted(stream)
    stream.look(BATCH - PLANNED - 0.1)
    assert stream.prepared == []
    stream.look(0.1)
    stream.look(0.1)
    assert (stream.prepared, len(stream.queries)) == ([plan], 2)
    stream.look(PLANNED - LEAST_LEAD - 0.2)
    assert len(stream.queries) == 2, "an unchanged plan gets the same lead"
    stream.look(0.2)
    assert (len(stream.queries), stream.handover.next.plan) == (3, plan)


def test_what_is_promoted_after_the_next_query_was_planned_waits_for_the_one_after(stream):
    second(stream)
    stream.look(BATCH - PLANNED)
    plan = promoted(stream)
    stream.look(PLANNED - LEAST_LEAD - 0.1)
    assert (stream.prepared, len(stream.queries)) == ([], 2)
    stream.look(0.1)
    assert stream.handover.next.plan == PLAN
    stream.queries[1].commits(100)
    stream.look()
    stream.look(BATCH - PLANNED)
    assert (stream.in_force, stream.prepared) == (3, [plan])


def test_a_schema_that_is_registered_after_the_next_query_was_planned_is_known_to_it(stream):
    second(stream)
    stream.look(BATCH - PLANNED)
    stream.plan = replace(PLAN, writers=Writers("calls-value", ((7, '"bytes"'),)))
    stream.look(PLANNED - LEAST_LEAD)
    assert stream.handover.next.plan == stream.plan


def test_a_baseline_that_cannot_be_read_hinders_no_handover_when_it_can_be_again(stream):
    second(stream)
    plan, stream.unreadable = promoted(stream), True
    stream.look(BATCH - PLANNED)
    assert stream.handover.failure == "no handover: JobError: the lake does not answer"
    stream.unreadable = False
    stream.look(PLANNED - LEAST_LEAD)
    assert (len(stream.queries), stream.handover.next.plan, stream.handover.failure) == (3, plan, None)


def test_a_plan_of_a_batch_that_handed_nothing_over_is_made_anew(stream):
    second(stream)
    first_try = promoted(stream)
    stream.look(BATCH - PLANNED)
    stream.keeps_up = False
    stream.look(PLANNED)
    stream.queries[1].commits(100)
    stream.look()
    stream.keeps_up, plan = True, promoted(stream)
    stream.look(BATCH - PLANNED)
    stream.look(PLANNED - LEAST_LEAD)
    assert (stream.prepared, stream.handover.next.plan) == ([first_try, plan], plan)


def test_offsets_without_a_record_hold_no_handover_up_once_a_batch_has_ended(stream):
    first = stream.begin()
    stream.end = 103
    stream.look(BATCH - 1)
    stream.look(1)
    assert stream.in_force == 1, "where nothing is committed since, nothing is counted"
    stream.counted = 1
    first.commits(101)
    stream.look()
    assert stream.in_force == 1, "one of the offsets from 101 on has a record"
    stream.silent = True
    stream.look()
    assert stream.in_force == 1, "nobody knows"
    stream.silent, stream.counted = False, 0
    stream.look()
    assert stream.in_force == 2, "only ends of transactions are left"


def left(stream: Stream, waiting: int) -> None:
    """By a driver that has died, so many readings before the end of the topic."""
    stream.generations.begin_anew({0: 0}, "id")
    stream.end = waiting


def test_a_new_stream_begins_at_the_end_of_its_topic_with_whole_batches(stream):
    assert stream.begin().generation.begin == {0: 100}
    assert stream.started == [(BATCH, False)]


@pytest.mark.parametrize(("waiting", "behind"), [(1, False), (BEHIND, False), (BEHIND + 1, True)])
def test_a_driver_that_goes_on_commits_early_and_a_stream_far_behind_is_set_for_throughput(stream, waiting, behind):
    left(stream, waiting)
    first = stream.begin()
    assert first.generation.begin == {0: 0}
    stream.look(CATCH_UP)
    first.commits(waiting)
    stream.look()
    assert stream.in_force == 3
    assert stream.started == [(CATCH_UP, behind), (BATCH, False)], "only the first one"


def test_where_no_lag_is_measured_a_stream_has_caught_up_when_what_waited_is_committed(stream):
    left(stream, 500)
    stream.keeps_up = False
    first, caught_up = stream.begin(), stream.handover.caught_up
    assert not caught_up()
    for reached, counted, expected in ((300, 200, False), (499, 1, False), (499, 0, True), (499, 1, True)):
        stream.counted = counted
        first.commits(reached)
        stream.look()
        assert caught_up() == expected, "ends of transactions are left, and once it has, it has"
