"""The plan follows from the seed alone, and is one that a run can keep."""

from hypothesis import given
from hypothesis import strategies as st

from bench.chaos.plan import ACTS, BEGINS, DRIVER_FAULTS, ENDS, FAULT, KILLED_PARTS, LASTING, PAIR, PERSON, plan

STREAMS = ["service-use.score", "events.queries"]
seeds, lengths = st.integers(0, 2**31), st.floats(60, 3600)


@given(seeds, lengths)
def test_the_seed_alone_decides(seed, seconds):
    assert plan(seed, seconds, STREAMS) == plan(seed, seconds, STREAMS)


@given(seeds)
def test_another_seed_is_another_plan(seed):
    assert plan(seed, 1800, STREAMS) != plan(seed + 1, 1800, STREAMS)


@given(seeds, lengths)
def test_events_are_in_order_and_leave_room_at_both_ends(seed, seconds):
    times = [event.at for event in plan(seed, seconds, STREAMS)]
    assert times == sorted(times)
    assert all(BEGINS <= at < seconds - ENDS for at in times)


@given(seeds)
def test_an_hour_has_every_fault_and_every_act(seed):
    events = plan(seed, 3600, STREAMS)
    struck = {f"kill {event.on}" if event.what == "kill" else event.what for event in events if event.who == FAULT}
    assert struck == {*DRIVER_FAULTS, *(f"kill {part}" for part in KILLED_PARTS), *LASTING, PAIR}
    assert {event.what for event in events if event.who == PERSON} == set(ACTS)


@given(seeds)
def test_what_this_machine_cannot_have_befalls_nobody_not_even_in_a_pair(seed):
    events = plan(seed, 3600, STREAMS, without=("disk_full", "driver"))
    befallen = [each for event in events for each in (event, *event.both)]
    assert not {"disk_full", "driver"} & {each.what for each in befallen}


@given(seeds)
def test_two_faults_at_once_are_two(seed):
    pairs = [event for event in plan(seed, 3600, STREAMS) if event.what == PAIR]
    assert pairs
    for event in pairs:
        first, second = event.both
        assert (first.what, first.on) != (second.what, second.on)
        assert event.at == first.at == second.at


@given(seeds)
def test_a_drivers_fault_names_a_stream_that_runs(seed):
    assert {event.on for event in plan(seed, 3600, STREAMS) if event.what in DRIVER_FAULTS} <= set(STREAMS)
