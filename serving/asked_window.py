"""The window that a request asks for: so many minutes that end now, or the time between two instants."""

import datetime as dt
from typing import Annotated

from fastapi import Depends, Query
from pydantic import AwareDatetime, Field

from contracts.feeds import Feed
from serving import series
from serving.problems import ProblemError
from serving.state import State

LONGEST = dt.timedelta(days=45)  # five weeks, and what lies ahead or is dragged beyond

Instant = Annotated[AwareDatetime, Field(ge=series.FIRST, le=series.LAST)]
Minutes = Annotated[int, Query(ge=1, le=50_400, description="Length of the window that ends now, at most five weeks, minutes.")]
MinutesIfAny = Annotated[
    int | None, Query(ge=1, le=50_400, description="Length of a window that ends now, at most five weeks, minutes.")
]
First = Annotated[
    Instant | None,
    Query(alias="from", description="Start of another window, 1900 to 2199, with its offset; `minutes` then says nothing."),
]
Last = Annotated[Instant | None, Query(alias="to", description="Its end.")]


async def _asked(minutes: Minutes = 60, first: First = None, last: Last = None) -> series.Window | int:
    """A fixed window, or the length in minutes of the one that ends now."""
    return _fixed(first, last) or minutes


async def _asked_if_any(minutes: MinutesIfAny = None, first: First = None, last: Last = None) -> series.Window | int | None:
    """The same, or None where no window is asked for."""
    return _fixed(first, last) or minutes


def _fixed(first: dt.datetime | None, last: dt.datetime | None) -> series.Window | None:
    if first is None and last is None:
        return None
    if first is None or last is None or not dt.timedelta(0) < last - first <= LONGEST:
        detail = f"from is {first and first.isoformat()}, to is {last and last.isoformat()}."
        remedy = f"Give both, from before to, and at most {LONGEST.days} days between them."
        raise ProblemError(422, "invalid-window", "No such window", detail, remedy)
    start, end = first.astimezone(dt.UTC), last.astimezone(dt.UTC)
    return series.Window(start, end, end, live=False)


AskedWindow = Annotated[series.Window | int, Depends(_asked)]
AskedWindowIfAny = Annotated[series.Window | int | None, Depends(_asked_if_any)]


def window_of(state: State, feed: Feed, asked: series.Window | int) -> series.Window:
    return series.window(feed, state.newest_at(feed), state.now(), asked) if isinstance(asked, int) else asked
