"""Services that found no room in memory."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Crowding:
    """What there was no room for since start."""

    evicted: int = 0  # services that made room for another
    turned_away: int = 0  # readings of services for which none could make room
    example: str | None = None  # the service that lost its place or found none last
    last: float = 0.0  # when that was, by time.monotonic
    in_baseline: int = 0  # services that the baseline in force knows
