"""One stack and its story (see story.py) for all tests of service-use that a worker runs, or a stack of the test's own."""

from collections.abc import Iterator

import pytest

from stack.instance import Instance
from stack.parts import lifecycle
from tests.end_to_end.story import Story


@pytest.fixture(scope="session")
def story(platform_stack) -> Story:
    """Primed: with history, a first baseline in force, and the stream that goes by it."""
    made = Story(platform_stack)
    made.prime()
    return made


@pytest.fixture
def instance(tmp_path) -> Iterator[Instance]:
    """A place for a stack of the test's own, which is stopped at the end."""
    made = Instance(tmp_path / "stack")
    yield made
    if made.exists():
        lifecycle.down(made, print)
