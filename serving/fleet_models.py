"""What the API answers of all feeds and services at a glance. Instants are ISO 8601 in UTC."""

import datetime as dt
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from serving.models import Expected, IncidentInfo, Percent

Status = Literal["incident", "anomalous", "silent", "unknown", "no_baseline", "normal"]


class FirstBaseline(BaseModel):
    """How far the history of a feed without a baseline has come."""

    dates: Annotated[int, Field(description="Dates in history that count towards a first baseline.")]
    needed: Annotated[int, Field(description="Dates that a first baseline needs: two of each day type.")]


class FleetFeed(BaseModel):
    name: str
    description: str
    interval_seconds: Annotated[int, Field(description="Reporting interval, seconds.")]
    timezone: Annotated[str, Field(description="IANA time zone in which days and slots are counted.")]
    newest_at: Annotated[dt.datetime | None, Field(description="Time of the newest reading, live or archived; null: none yet.")]
    start: Annotated[dt.datetime, Field(description="Start of the interval that the sparklines begin with, UTC.")]
    first_baseline: Annotated[
        FirstBaseline | None, Field(description="Null: there is a baseline in force, or history cannot be read.")
    ]


class FleetService(BaseModel):
    """One service. Its sparkline is `values` within `low` and `high`: each by interval, from the feed's `start` on."""

    feed: str
    name: str
    status: Annotated[
        Status,
        Field(
            description="incident: one is open; anomalous: its newest reading is; silent: its readings do not come; unknown: "
            "serving has not read its readings, or has no room for them; no_baseline: nothing is expected of it; normal."
        ),
    ]
    since: Annotated[dt.datetime | None, Field(description="Since when it is an incident, anomalous or silent; else null.")]
    at: Annotated[dt.datetime | None, Field(description="Time of the newest reading, scored or of history; null: none is kept.")]
    value: Annotated[int | None, Field(description="Its value, requests in the interval.")]
    expected: Expected
    pct: Percent
    anomalous: Annotated[bool | None, Field(description="Whether the newest reading broke the rule.")]
    incident: Annotated[IncidentInfo | None, Field(description="The open incident that began last; null: there is none.")]
    values: Annotated[list[int | None], Field(description="Readings, one for each interval; null: there is none.")]
    low: Annotated[
        list[float | None],
        Field(description="Lowest value that is not flagged, to three digits; null: none is known."),
    ]
    high: Annotated[list[float | None], Field(description="Highest value that is not flagged, to three digits.")]
    flagged: Annotated[list[int], Field(description="Places in `values` of the readings that broke the rule.")]


class Fleet(BaseModel):
    """All feeds and services as of one moment."""

    as_of: Annotated[
        dt.datetime | None, Field(description="Until when serving has read the topics; null: not yet, so no service is silent.")
    ]
    feeds: list[FleetFeed]
    services: Annotated[
        list[FleetService],
        Field(description="What is wrong first: by status, in the order given there; then what began last; then by name."),
    ]
    groups: Annotated[list[IncidentInfo], Field(description="Open groups of incidents, the one that began last first.")]
