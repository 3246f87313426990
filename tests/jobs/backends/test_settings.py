"""The platform as the environment describes it."""

import pytest

from jobs.backends.settings import Platform
from jobs.errors import JobError

ADDRESSES = {"SUNDIAL_KAFKA": "broker:9092", "SUNDIAL_REGISTRY": "http://registry", "SUNDIAL_LAKE": "/lake"}
FOLDERS = {"SUNDIAL_STREAMS": "/streams", "SUNDIAL_JARS": "/jars"}
OPTIONAL = ("SUNDIAL_UNATTENDED_SECONDS", "SUNDIAL_CHECKPOINT_SECONDS")


@pytest.fixture
def platform(monkeypatch):
    """platform(variables): as an environment with these and all addresses describes it."""

    def read(**variables: str) -> Platform:
        for name in OPTIONAL:
            monkeypatch.delenv(name, raising=False)
        for name, value in (ADDRESSES | FOLDERS | variables).items():
            monkeypatch.setenv(name, value)
        return Platform.from_environment()

    return read


def test_times_have_defaults_and_are_set_in_seconds(platform):
    assert (platform().unattended, platform().checkpoint) == (3600, 60)
    assert platform(SUNDIAL_UNATTENDED_SECONDS="", SUNDIAL_CHECKPOINT_SECONDS="").checkpoint == 60
    found = platform(SUNDIAL_UNATTENDED_SECONDS="7200", SUNDIAL_CHECKPOINT_SECONDS="20")
    assert (found.unattended, found.checkpoint) == (7200, 20)


@pytest.mark.parametrize("name", OPTIONAL)
@pytest.mark.parametrize("text", ["0", "-1", "1.5", "a minute", "²"])
def test_another_time_is_refused_by_name(platform, name, text):
    with pytest.raises(JobError, match=f"^{name} must be a number of seconds, at least 1, is '{text}'$"):
        platform(**{name: text})
