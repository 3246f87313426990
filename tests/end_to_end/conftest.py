"""One stack and its story for all tests of service-use that a worker runs, in any order: see story.py."""

import pytest

from tests.end_to_end.story import Story


@pytest.fixture(scope="session")
def story(platform_stack) -> Story:
    """Primed: with history, a first baseline in force, and the stream that goes by it."""
    made = Story(platform_stack)
    made.prime()
    return made
