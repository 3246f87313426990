"""What serving's memory holds of a service, reading by reading."""

import math

from serving.memory import Memory, Reading

LAST = 2**62


def kept(memory: Memory, feed: str, service: str, start: int = 0, end: int = LAST) -> list[Reading]:
    """Readings of [start, end] (epoch milliseconds), oldest first; empty for an unknown service."""
    columns = [column.tolist() for column in memory.scored(feed, service, start, end)]
    return [Reading(*map(_known, row)) for row in zip(*columns, strict=True)]


def _known(cell):
    return None if isinstance(cell, float) and math.isnan(cell) else cell
