"""When a part is started again: each case is a sequence of observations, a second or so apart, and what must follow."""

import pytest

from stack.parts.restarts import History, Leave, Limits, Observation, Start, Wait, decide

LIMITS = Limits()


class Part:
    """Observed at the moments that a test says; keeps what is remembered of it."""

    def __init__(self):
        self.history = History()

    def at(self, at: float, alive: bool = False, **more):
        self.history, action = decide(self.history, Observation(at, alive, **more), LIMITS)
        return action


@pytest.fixture
def part():
    return Part()


def test_a_part_that_lives_is_left_alone_healthy_or_not(part):
    assert part.at(0, alive=True, healthy=True) == Leave()
    assert part.at(1000, alive=True, healthy=False) == Leave()
    assert part.at(9000, alive=True, healthy=False) == Leave()
    assert part.history.deaths == 0


def test_a_part_that_ended_is_started_a_second_later(part):
    assert part.at(100.0) == Wait(1.0, ())
    assert part.at(100.9) == Wait(pytest.approx(0.1), ())
    assert part.at(101.0) == Start()
    assert part.at(102.0, alive=True) == Leave()


def test_each_pause_is_twice_the_one_before_and_at_most_a_minute(part):
    at, pauses = 0.0, []
    for _ in range(9):
        pauses.append(part.at(at).seconds)
        at += pauses[-1]
        assert part.at(at - 0.01) == Wait(pytest.approx(0.01), ())
        assert part.at(at) == Start()
        at += 1
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_part_that_never_came_to_life_has_ended_again(part):
    """As where its port is taken, or its program is not there."""
    part.at(0)
    assert part.at(1) == Start()
    assert part.at(2) == Wait(2.0, ())


def test_five_minutes_of_health_end_the_long_pauses(part):
    for at in (0, 1, 2, 4):
        part.at(at)  # it ends twice
    part.at(5, alive=True)
    part.at(10, alive=True, healthy=True)
    part.at(309.9, alive=True, healthy=True)
    assert part.history.deaths == 2
    part.at(310, alive=True, healthy=True)
    assert part.history.deaths == 0
    assert part.at(400) == Wait(1.0, ())


def test_health_that_is_interrupted_counts_from_the_interruption_on(part):
    for at in (0, 1):
        part.at(at)
    part.at(2, alive=True, healthy=True)
    part.at(200, alive=True, healthy=False)
    part.at(201, alive=True, healthy=True)
    part.at(400, alive=True, healthy=True)
    assert part.at(401) == Wait(2.0, ())


def test_a_part_waits_for_those_that_it_needs_and_then_starts_at_once(part):
    assert part.at(0, lacks=("kafka",)) == Wait(1.0, ("kafka",))
    assert part.at(30, lacks=("kafka",)) == Wait(0.0, ("kafka",))
    assert part.at(31) == Start()
    assert part.at(32) == Wait(2.0, ()), "that was one death, however long it waited"


def test_a_part_that_somebody_else_started_is_left_alone(part):
    part.at(0)
    assert part.at(0.5, alive=True) == Leave()
    assert part.at(600, alive=True) == Leave()
    assert part.at(601) == Wait(2.0, ()), "it ended twice, and was not healthy for five minutes in between"
