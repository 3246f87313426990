"""What the policy decides over any history of events: there is never a second driver."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from supervision.policy import (
    Adopt,
    GiveUp,
    History,
    KeepWatching,
    Launch,
    Observation,
    Recovered,
    Relaunch,
    Wait,
    decide,
)
from tests.supervision.limits import LIMITS


@dataclass
class World:
    """A stream whose drivers do what `events` say, and supervisions that act as they decide."""

    drivers: int = 0
    given_up: bool = False
    mark: int = 0
    beats: int = 0
    heartbeat: dict = field(default_factory=dict)
    running_since: float | None = None

    def happens(self, event: str, at: float) -> None:
        if event == "cleared":
            self.given_up = False
        if not self.drivers:
            return
        if event == "dies":
            self.ends()
        elif event == "stops":
            self.beat("stopping", at)
            self.ends()
        elif event in ("starting", "running", "swapping", "stopping"):
            self.beat(event, at)
        elif event == "stalls":
            self.beat("running", at, stalled=1e6)

    def beat(self, state: str, at: float, stalled: float = 0.0) -> None:
        self.beats += 1
        self.mark = self.beats
        self.running_since = (self.running_since or at) if state == "running" else None
        self.heartbeat = {"state": state, "health": {"lag_records": 1, "stalled_seconds": stalled}}

    def ends(self) -> None:
        self.drivers, self.running_since = 0, None

    def launches(self) -> None:
        self.drivers += 1
        self.mark, self.running_since = 0, None

    def seen(self, at: float) -> Observation:
        return Observation(at, not self.drivers, self.given_up, self.heartbeat, self.mark)


EVENTS = st.sampled_from(
    ["dies", "stops", "starting", "running", "running", "running", "swapping", "stopping", "silent", "stalls", "cleared"]
)


@given(
    steps=st.lists(st.tuples(EVENTS, st.sampled_from([1.0, 5.0, 16.0, 61.0, 700.0])), max_size=60),
    driver_there=st.booleans(),
    given_up=st.booleans(),
)
def test_there_is_never_a_second_driver(steps, driver_there, given_up):
    """And: a stream that is not given up has a driver after every decision; only a long run ends the giving up."""
    world, history, at = World(drivers=int(driver_there), given_up=given_up), History(), 0.0
    for event, seconds_later in steps:
        at += seconds_later
        world.happens(event, at)
        before = world.drivers
        history, action = decide(history, world.seen(at), LIMITS)
        match action:
            case Launch(stopped):
                assert before == 0
                assert not stopped or world.heartbeat["state"] == "stopping"
                world.launches()
            case Relaunch(_, pause):
                assert not world.given_up
                assert pause == (0 if history.deaths == 1 else 2 ** (history.deaths - 2))
                assert history.deaths <= LIMITS.restarts
                world.ends()
                world.launches()
            case GiveUp():
                assert world.given_up or history.deaths == LIMITS.restarts + 1
                world.ends()
                world.given_up, history = True, History()  # the next run of the task supervises it
            case Recovered():
                assert world.given_up
                assert world.running_since is not None
                assert at - world.running_since > LIMITS.well_after
                world.given_up = False
            case Wait(left):
                assert before == 0
                assert world.given_up
                assert 0 < left <= LIMITS.pause
            case Adopt() | KeepWatching():
                assert before == 1
        assert world.drivers <= 1
        assert world.drivers == 1 or world.given_up
