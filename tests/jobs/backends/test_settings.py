"""The platform as the environment describes it."""

import argparse

import pytest

from jobs.backends import settings
from jobs.backends.settings import LEAST_CHECKPOINT, Platform
from jobs.errors import JobError
from jobs.streams.handover import LEAST_LEAD

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


@pytest.mark.parametrize(("name", "least"), list(zip(OPTIONAL, (1, 15), strict=True)))
@pytest.mark.parametrize("text", ["0", "-1", "1.5", "a minute", "²"])
def test_another_time_is_refused_by_name(platform, name, least, text):
    with pytest.raises(JobError, match=f"^{name} must be a number of seconds, at least {least}, is '{text}'$"):
        platform(**{name: text})


def test_batches_that_are_over_before_the_next_query_has_begun_are_refused(platform):
    """Spark would refuse those of less than five seconds only when the query starts."""
    assert platform(SUNDIAL_CHECKPOINT_SECONDS="15").checkpoint == settings.checkpoint_seconds("15") == LEAST_CHECKPOINT
    assert LEAST_CHECKPOINT > LEAST_LEAD
    with pytest.raises(JobError, match="SUNDIAL_CHECKPOINT_SECONDS must be a number of seconds, at least 15, is '14'"):
        platform(SUNDIAL_CHECKPOINT_SECONDS="14")
    for text in ("4", "14", "0", "-1", "1.5", "²"):
        with pytest.raises(argparse.ArgumentTypeError, match=f"^'{text}' is no number of seconds, at least 15$"):
            settings.checkpoint_seconds(text)
