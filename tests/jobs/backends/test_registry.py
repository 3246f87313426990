"""A registry that does not answer, or lacks a subject, is named."""

import pytest

from jobs.backends.registry import Registry
from jobs.errors import JobError


@pytest.mark.full
def test_a_registry_that_does_not_answer_is_named(lake_platform):
    with pytest.raises(JobError, match=r"registry http://127\.0\.0\.1:1, subject calls-value: .*refused"):
        Registry(lake_platform).writers("calls-value")
    with pytest.raises(JobError, match=r"registry http://127\.0\.0\.1:1, subject calls-value: .*refused"):
        Registry(lake_platform).writers("calls-value")


def test_a_subject_that_is_not_registered_is_named(live_platform):
    with pytest.raises(JobError, match=r"subject calls-value: .*`sundial schemas register` registers it"):
        Registry(live_platform).writers("calls-value")
