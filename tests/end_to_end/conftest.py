"""One stack and its story, for all end-to-end tests of service-use: they run in the order of their files."""

import pytest

from tests.end_to_end.story import Story


@pytest.fixture(scope="package")
def story(platform_stack) -> Story:
    return Story(platform_stack)
