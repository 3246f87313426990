"""Answers about one service: from history and the baseline in force, merged with the live readings.

Each function takes an `Archive` first, so that `long_reads` can call it in another process.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from contracts.feeds import Feed
from serving import series
from serving.expectation import Expectation, expectation
from serving.history import History
from serving.lake import Lake, Version, reason
from serving.merged import Readings, judged, merged
from serving.scored import Scored
from serving.tables import Tables

Versions = tuple[Version | None, int | None]


class Archive(NamedTuple):
    """The tables that serving reads: history, and the baselines."""

    history: History
    tables: Tables

    @classmethod
    def of(cls, lake: Lake) -> "Archive":
        return cls(History(lake), Tables(lake))

    def versions(self, feed: Feed) -> Versions:
        """Of history and of the baseline in force; None where there is none yet."""
        return self.history.version(feed), self.tables.version(feed)

    def unreadable(self, feeds: Iterable[Feed]) -> dict[str, str]:
        """By the name of the feed, which kinds of its tables can't be read, each with the reason; of the others nothing."""
        reads = {"history": self.history.services} | self.tables.reads()
        found: dict[str, list[str]] = {}
        for feed in feeds:
            for kind, read in reads.items():
                if reason := _refusal(read, feed):
                    found.setdefault(feed.name, []).append(f"{kind}: {reason}")
        return {feed: "; ".join(reasons) for feed, reasons in found.items()}

    def unreadable_events(self, topics: Iterable[str]) -> dict[str, str]:
        """By topic, why the table of its archived events can't be read; of the others nothing."""
        reasons = {topic: _refusal(self.tables.lake.open, f"events/{topic}") for topic in topics}
        return {topic: reason for topic, reason in reasons.items() if reason}


def _refusal(read: Callable[[Any], object], of: Any) -> str | None:
    """Why that can't be read; None: it can."""
    try:
        read(of)
    except Exception as error:  # of many kinds, by the kind of lake
        return reason(error)
    return None


def series_of(archive: Archive, feed: Feed, service: str, shown: series.Window, width: int, live: Scored) -> dict[str, Any]:
    """The answer of `series.series`. live: the readings of the window that serving has in memory."""
    archived = archive.history.readings(feed, service, shown.start, shown.until)
    arrays = lambda day: archive.tables.arrays(feed, service, day)  # noqa: E731
    expecting, version = archive.tables.expecting(feed), archive.tables.version(feed)
    return series.series(expecting, service, shown, width, archived, live, arrays, version)


def readings_of(
    archive: Archive, feed: Feed, service: str, first: int, last: int, limit: int, live: Scored
) -> tuple[Readings, bool]:
    """The oldest readings of [first, last] (epoch milliseconds), at most `limit`, and whether there are more."""
    archived = archive.history.readings(feed, service, series.instant(first), series.instant(last))
    once = merged(archived, live).between(first, last)
    page = Scored(*(column[:limit] for column in once))
    beside = _beside(archive, feed, service, page.at)
    return judged(page, feed.rule, beside, archive.tables.version(feed)), len(once.at) > limit


def _beside(archive: Archive, feed: Feed, service: str, at: np.ndarray) -> Expectation:
    """What the baseline in force expects at each of these instants (epoch milliseconds, ascending)."""
    expecting = archive.tables.expecting(feed)
    return expectation(expecting, lambda day: archive.tables.arrays(feed, service, day), at // 1000)
