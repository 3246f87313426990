"""The API's paths, and how a window stands in a query."""

import datetime as dt
from collections.abc import Iterable
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


def events_query(feed: str | None, service: str | Iterable[str] | None) -> dict[str, list[str]]:
    """Without a value, nothing of a parameter. Raises ValueError where no service is among those that are named."""
    services = [service] if isinstance(service, str) else [] if service is None else list(service)
    if service is not None and not services:
        raise ValueError("name a service, or leave the services out to get the readings of all")
    return {"feed": [] if feed is None else [feed], "service": services}
