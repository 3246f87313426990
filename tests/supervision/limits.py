"""The limits by which the tests of the policy decide."""

from supervision.policy import Limits

LIMITS = Limits(hang_after=15, stall_after=60, start_within=120, restarts=5, well_after=300, pause=300)
