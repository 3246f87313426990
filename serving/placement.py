"""Whether a feed's declaration still has the interval and the time zone that its history was made with."""

import json

from deltalake import DeltaTable

from contracts import placed_by
from contracts.feeds import Feed
from serving.lake import Lake

NOTES = 100  # newest commits of a history: nearly each says by what its rows were placed


def misplaced(lake: Lake, feed: Feed) -> str:
    """How the declaration differs from it; empty if it does not. A baseline is then by other slots. Nothing is said while the
    history can't be read."""
    try:
        table = lake.open(f"history/{feed.table}")
        notes = [] if table is None else lake.of_version(("notes", feed.name), table, lambda: _read_notes(table))
    except Exception:  # of many kinds, by the kind of lake
        return ""
    return placed_by.difference(feed, notes)


def _read_notes(table: DeltaTable) -> list[dict]:
    return [json.loads(commit.get("userMetadata") or "{}") for commit in table.history(NOTES)]
