"""What decides the local date and the slot of a reading. Each commit that adds rows to a feed's history notes it: slots of two
intervals or time zones must not be mixed."""

from collections.abc import Iterable, Mapping
from typing import Any

from contracts.feeds import Feed

FIELD = "placed_by"  # of a commit's note


def note_of(feed: Feed) -> dict[str, Any]:
    """For the note of a commit that adds rows."""
    return {FIELD: {"interval_seconds": feed.interval_seconds, "timezone": feed.timezone}}


def difference(feed: Feed, notes: Iterable[Mapping[str, Any]]) -> str:
    """How the feed's declaration differs from what placed its history, by the notes of the commits, newest first; empty if it
    does not, or if no commit says."""
    was, declared = next((note[FIELD] for note in notes if FIELD in note), {}), note_of(feed)[FIELD]
    return "; ".join(f"{name} was {was[name]} and is {declared[name]}" for name in was if was[name] != declared[name])
