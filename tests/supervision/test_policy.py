"""What the policy decides, from observations alone: no process, no file, no clock."""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from supervision.policy import (
    Action,
    Adopt,
    GiveUp,
    History,
    KeepWatching,
    Launch,
    Limits,
    Observation,
    Recovered,
    Relaunch,
    Wait,
    decide,
)
from tests.supervision.limits import LIMITS

WELL = {"state": "running", "last_error": None, "health": {"lag_records": 0, "stalled_seconds": 0.0}}


@dataclass
class Supervision:
    """Makes observations and keeps the history between them."""

    limits: Limits = LIMITS
    history: History = field(default_factory=History)
    marks: int = 0

    def sees(
        self, at: float, gone: bool = False, given_up: bool = False, beats: bool = True, slowness: float = 1.0, **heartbeat
    ) -> Action:
        """A driver, and a new heartbeat of it unless `beats` is false."""
        self.marks += beats
        seen = Observation(at, gone, given_up, WELL | heartbeat, self.marks, slowness)
        self.history, action = decide(self.history, seen, self.limits)
        return action

    def sees_silence(self, at: float, slowness: float = 1.0) -> Action:
        """A driver that has given no heartbeat since its launch; there is one of the driver before."""
        self.history, action = decide(self.history, Observation(at, False, False, WELL, 0, slowness), self.limits)
        return action


@pytest.fixture
def watching() -> Supervision:
    """A supervision that found a driver at second 0."""
    made = Supervision()
    assert made.sees(0) == Adopt()
    return made


def test_a_stream_without_a_driver_gets_one_at_once():
    assert Supervision().sees(0, gone=True) == Launch(stopped=False)


def test_a_driver_that_is_there_is_watched_and_not_launched(watching):
    assert watching.sees(1) == watching.sees(2) == KeepWatching()


def test_a_driver_that_died_is_launched_again(watching):
    assert watching.sees(1, gone=True, state="swapping") == Relaunch("its driver is gone, last state swapping", 0)


def test_a_driver_that_died_before_its_first_heartbeat_is_launched_again():
    supervision = Supervision()
    supervision.sees(0, gone=True)
    supervision.history, action = decide(supervision.history, Observation(1, gone=True), LIMITS)
    assert action == Relaunch("its driver is gone, last state none", 0)


def test_a_driver_that_stopped_on_request_is_launched_again_and_has_not_died(watching):
    assert watching.sees(1, gone=True, state="stopping") == Launch(stopped=True)
    assert watching.history.deaths == 0


def test_a_driver_that_is_about_to_stop_is_still_there(watching):
    assert watching.sees(1, state="stopping") == KeepWatching()


def test_a_driver_that_stopped_with_an_error_has_died(watching):
    action = watching.sees(1, gone=True, state="stopping", last_error="ConnectionRefusedError: the JVM is gone")
    assert action == Relaunch("its driver is gone, last state stopping", 0)
    assert watching.history.deaths == 1


def test_the_stop_of_the_driver_before_says_nothing_of_the_present_one(watching):
    watching.sees(1, gone=True, state="stopping")
    stopping = Observation(2, gone=True, heartbeat=WELL | {"state": "stopping"}, heartbeat_mark=0)
    assert decide(watching.history, stopping, LIMITS)[1] == Relaunch("its driver is gone, last state stopping", 0)


def test_a_driver_without_a_heartbeat_hangs(watching):
    assert watching.sees(10) == KeepWatching()
    assert watching.sees(25, beats=False) == KeepWatching(), "15 s, and no more"
    assert watching.sees(25.1, beats=False) == Relaunch("no heartbeat for 15 s", 0)


def test_a_new_driver_has_longer_for_its_first_heartbeat(watching):
    watching.sees(1, gone=True)
    assert watching.sees_silence(10) == KeepWatching()
    assert watching.sees_silence(130) == KeepWatching(), "120 s, and no more, from when it was first looked at"
    assert watching.sees_silence(130.1) == Relaunch("no heartbeat for 120 s", 1), "its second death"


def test_the_time_between_two_looks_at_different_drivers_is_no_silence(watching):
    watching.sees(1, gone=True)
    assert watching.sees(500) == KeepWatching()


@pytest.mark.parametrize("state", ["starting", "swapping", None])
def test_a_driver_that_does_not_get_to_run_hangs(watching, state):
    for second in range(1, 131, 10):
        assert watching.sees(second, state=state) == KeepWatching()
    assert watching.sees(121, state=state) == KeepWatching(), "120 s, and no more"
    assert watching.sees(121.1, state=state) == Relaunch(f"{state} for more than 120 s", 0)


def test_each_state_has_its_own_time(watching):
    assert watching.sees(100, state="starting") == KeepWatching()
    assert watching.sees(200, state="swapping") == KeepWatching()
    assert watching.sees(310, state="running") == KeepWatching()
    assert watching.sees(320, state="swapping") == KeepWatching()


def test_a_new_driver_does_not_inherit_the_time_of_the_one_before(watching):
    assert watching.sees(100, state="swapping") == KeepWatching()
    assert watching.sees(221, gone=True, state="swapping") == Relaunch("its driver is gone, last state swapping", 0)
    assert watching.sees(222, state="swapping") == KeepWatching()


def test_a_driver_that_does_nothing_of_what_waits_hangs(watching):
    health = {"lag_records": 70_001, "stalled_seconds": 60}
    assert watching.sees(1, health=health) == KeepWatching(), "60 s, and no more"
    stalled = watching.sees(2, health=health | {"stalled_seconds": 61.2})
    assert stalled == Relaunch("70,001 records wait, none done for 61 s", 0)


def test_on_a_busy_machine_a_driver_has_longer_to_start(watching):
    """Else drivers that start together are killed before they are done, and again, for ever."""
    for second in range(1, 481, 10):
        assert watching.sees(second, state="starting", slowness=4) == KeepWatching()
    assert watching.sees(481, state="starting", slowness=4) == KeepWatching(), "480 s, and no more"
    assert watching.sees(481.1, state="starting", slowness=4) == Relaunch("starting for more than 480 s", 0)


def test_on_a_busy_machine_the_first_heartbeat_may_come_later(watching):
    watching.sees(1, gone=True)
    assert watching.sees_silence(10, slowness=4) == KeepWatching()
    assert watching.sees_silence(490, slowness=4) == KeepWatching(), "480 s, and no more"
    assert watching.sees_silence(490.1, slowness=4) == Relaunch("no heartbeat for 480 s", 1)


def test_on_a_busy_machine_a_batch_may_take_longer(watching):
    health = {"lag_records": 24, "stalled_seconds": 71}
    assert watching.sees(1, health=health, slowness=4) == KeepWatching()
    assert watching.sees(2, health=health) == Relaunch("24 records wait, none done for 71 s", 0), "it is free again"


def test_a_driver_without_a_heartbeat_hangs_however_busy_the_machine_is(watching):
    assert watching.sees(10, slowness=5) == KeepWatching()
    assert watching.sees(25.1, beats=False, slowness=5) == Relaunch("no heartbeat for 15 s", 0)


def test_a_standstill_counts_only_while_the_query_runs(watching):
    health = {"lag_records": 7, "stalled_seconds": 1e6}
    assert watching.sees(1, state="swapping", health=health) == KeepWatching()
    assert watching.sees(2, health={}) == KeepWatching(), "nothing was measured yet"


def test_pauses_grow_and_deaths_before_a_driver_ran_well_are_forgotten():
    supervision = Supervision(Limits(15, 60, 120, restarts=3, well_after=60, pause=300))
    supervision.sees(999)
    assert [supervision.sees(at, gone=True).pause for at in (1000, 1010, 1020)] == [0, 1, 2]
    for at in range(1021, 1092, 10):
        assert supervision.sees(at) == KeepWatching()
    assert supervision.sees(1092, gone=True).pause == 0
    assert supervision.history.deaths == 1


@pytest.mark.parametrize("stalls", [False, True])
def test_drivers_of_which_none_runs_well_use_up_the_budget_however_slowly(stalls):
    """Each dies after four minutes; or runs for longer, but does nothing."""
    supervision = Supervision(LIMITS if not stalls else Limits(15, 290, 120, restarts=5, well_after=300, pause=300))
    supervision.sees(0)
    actions: list[Action] = []
    for death in range(1, 7):
        for second in range(0, 240 if not stalls else 301, 10):
            health = {"lag_records": 7, "stalled_seconds": second if stalls else 0.0}
            actions.append(supervision.sees(1000 * death + second, health=health))
        if not stalls:
            actions.append(supervision.sees(1000 * death + 240, gone=True))
    assert [type(each) for each in actions if each != KeepWatching()] == [Relaunch] * 5 + [GiveUp]


def test_after_the_budget_the_stream_is_given_up_with_the_last_reason(watching):
    pauses = [watching.sees(at, gone=True).pause for at in range(1, 6)]
    assert pauses == [0, 1, 2, 4, 8]
    reason = "its driver is gone, last state running"
    assert watching.sees(6, gone=True) == GiveUp(reason, f"6 deaths, and no driver ran well for 300 s; the last time, {reason}")


def test_a_stream_that_was_given_up_waits_and_is_tried_once():
    supervision = Supervision()
    assert supervision.sees(0, gone=True, given_up=True) == Wait(300)
    assert supervision.sees(299, gone=True, given_up=True) == Wait(1)
    assert supervision.sees(300, gone=True, given_up=True) == Launch(stopped=False)
    reason = "its driver is gone, last state running"
    last = supervision.sees(301, gone=True, given_up=True)
    assert last == GiveUp(reason, f"it was given up before, and one more try has not helped: {reason}")


def test_a_stream_that_was_given_up_is_tried_at_once_when_a_person_clears_that():
    supervision = Supervision()
    assert supervision.sees(0, gone=True, given_up=True) == Wait(300)
    assert supervision.sees(1, gone=True, given_up=False) == Launch(stopped=False)
    assert supervision.sees(2, gone=True, given_up=False) == Relaunch("its driver is gone, last state running", 0)


def test_a_driver_that_turns_up_while_a_stream_waits_is_watched():
    supervision = Supervision()
    assert supervision.sees(0, gone=True, given_up=True) == Wait(300)
    assert supervision.sees(1, given_up=True) == Adopt()


def test_a_driver_that_runs_well_for_five_minutes_ends_the_giving_up(watching):
    assert watching.sees(1, given_up=True, state="starting") == KeepWatching()
    for second in range(90, 391, 10):
        assert watching.sees(second, given_up=True) == KeepWatching()
    assert watching.sees(390.1, given_up=True) == Recovered()
    assert watching.sees(391) == KeepWatching()


def test_a_driver_that_stalls_does_not_run_well(watching):
    stalled = {"lag_records": 7, "stalled_seconds": 50.0}
    for second in range(1, 302, 10):
        assert watching.sees(second, given_up=True) == KeepWatching()
    assert watching.sees(302, given_up=True, health=stalled) == KeepWatching(), "it has run well for 252 s"
    assert watching.sees(303, given_up=True) == Recovered()


@given(restarts=st.integers(0, 8), gaps=st.lists(st.floats(0, 10), min_size=9, max_size=9))
def test_it_gives_up_after_exactly_the_budget(restarts, gaps):
    """However the deaths are spread, while no driver runs well."""
    supervision = Supervision(Limits(15, 60, 120, restarts=restarts, well_after=100, pause=300))
    supervision.sees(0)
    at, actions = 0.0, []
    for gap in gaps:
        at += gap
        actions.append(supervision.sees(at, gone=True))
        if isinstance(actions[-1], GiveUp):
            break
    assert [type(action) for action in actions] == [Relaunch] * restarts + [GiveUp]
    assert [action.pause for action in actions[:-1]] == [0, 1, 2, 4, 8, 16, 32, 64][:restarts]


@given(restarts=st.integers(1, 5), gaps=st.lists(st.integers(103, 1000), min_size=1, max_size=20))
def test_deaths_of_drivers_that_ran_well_never_use_up_the_budget(restarts, gaps):
    supervision = Supervision(Limits(1000, 60, 120, restarts=restarts, well_after=100, pause=300))
    supervision.sees(0)
    at = 0
    for gap in gaps:
        assert supervision.sees(at + 1) == KeepWatching()
        at += gap
        assert supervision.sees(at - 1) == KeepWatching()
        assert supervision.sees(at, gone=True) == Relaunch("its driver is gone, last state running", 0)


@given(well_for=st.floats(0, 600), given_up=st.booleans())
def test_only_a_well_driver_and_only_after_its_time_clears_the_mark(well_for, given_up):
    assume(abs(well_for - LIMITS.well_after) > 1e-6)
    supervision = Supervision(replace(LIMITS, hang_after=1000))
    supervision.sees(0)
    supervision.sees(1, given_up=given_up)
    expected = Recovered() if given_up and well_for > LIMITS.well_after else KeepWatching()
    assert supervision.sees(1 + well_for, given_up=given_up) == expected
