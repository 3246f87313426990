"""What tests of containers ask for."""

from pathlib import Path

import pytest

from tests.docker.compose import secrets


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """With passwords and certificates, as docker/secrets.sh makes them."""
    made = tmp_path_factory.mktemp("secrets")
    secrets(made)
    return made
