"""The API's paths, and how a window stands in a query."""

import datetime as dt
from typing import Any
from urllib.parse import quote


def feed_path(feed: str) -> str:
    return f"/api/feeds/{quote(feed, safe='')}"


def service_path(feed: str, service: str) -> str:
    return f"{feed_path(feed)}/services/{quote(service, safe='')}"


def window_query(minutes: int, start: dt.datetime | None, end: dt.datetime | None) -> dict[str, Any]:
    if start is None and end is None:
        return {"minutes": minutes}
    return span_query(start, end)


def span_query(start: dt.datetime | None, end: dt.datetime | None) -> dict[str, Any]:
    return {"from": start and start.isoformat(), "to": end and end.isoformat()}
