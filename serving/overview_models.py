"""What the API answers of all streams and nightly jobs at a glance. Instants are ISO 8601 in UTC."""

import datetime as dt
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from serving.fleet_models import FirstBaseline
from serving.health_models import StreamInfo
from serving.models import Version

Standing = Literal["failing", "attention", "unfinished", "well", "off"]
Step = Literal["repair", "decide", "load", "collect", "build", "switch_on", "produce", "none"]
AirflowPage = Annotated[
    str | None, Field(description="Page of its DAG in Airflow; null: serving does not know Airflow's address.")
]


class NextStep(BaseModel):
    """What brings a feed on."""

    kind: Annotated[
        Step,
        Field(
            description="repair: a table can't be read, or the stream fails. decide: the gate refused the newest candidate. "
            "load: history has no reading, and none comes. collect: history has too few dates for a first baseline. build: it "
            "has enough of them. switch_on: the stream does not run. produce: no readings come. none: all is well."
        ),
    ]
    text: Annotated[str, Field(description="What to do and why, in words.")]
    command: Annotated[str | None, Field(description="What to type; null: nothing.")]


class GateVerdict(BaseModel):
    """What the gate found of the newest candidate."""

    candidate_version: int
    checked_at: dt.datetime
    success: Annotated[bool, Field(description="Whether it may be promoted.")]
    awaits_approval: Annotated[bool, Field(description="Whether it was refused, and a person may promote it nevertheless.")]


class FeedProgress(BaseModel):
    """How far a feed has come, and what its nightly job has done as far as the tables say it."""

    newest_at: Annotated[dt.datetime | None, Field(description="Time of the newest reading, live or archived; null: none yet.")]
    archived_until: Annotated[dt.date | None, Field(description="Newest local date in history; null: there is none.")]
    archived_dates: Annotated[int | None, Field(description="Local dates in history; null: it can't be read.")]
    first_baseline: Annotated[
        FirstBaseline | None, Field(description="Null: there is a baseline in force, or a table can't be read.")
    ]
    baseline_version: Version
    baseline_as_of: Annotated[dt.date | None, Field(description="The local date before which its dates lie.")]
    promoted_at: Annotated[dt.datetime | None, Field(description="When the baseline was put in force.")]
    gate: Annotated[GateVerdict | None, Field(description="Null: the gate has judged no candidate yet.")]
    nightly: AirflowPage


class StreamOverview(BaseModel):
    """The stream of a feed or of an application, whether it ever ran or not."""

    name: Annotated[str, Field(description="Of the feed or of the application.")]
    stream: Annotated[Literal["score", "queries"], Field(description="score: of a feed. queries: of an application.")]
    description: Annotated[str | None, Field(description="Of the feed; null: it is an application.")]
    queries: Annotated[list[str], Field(description="Names of the application's queries; of a feed none.")]
    standing: Annotated[
        Standing,
        Field(
            description="failing: it does not do its work. attention: something else is wrong. unfinished: the feed has no "
            "baseline yet. well. off: it has never run, or a person has switched it off."
        ),
    ]
    troubles: Annotated[list[str], Field(description="What is wrong, in words, the worst first.")]
    info: Annotated[StreamInfo | None, Field(description="As in /api/streams; null: it has never run.")]
    supervision: AirflowPage
    feed: Annotated[FeedProgress | None, Field(description="Null: it is an application.")]
    next_step: Annotated[NextStep | None, Field(description="Of a feed; null: it is an application.")]


class Overview(BaseModel):
    """All declared streams."""

    streams: Annotated[
        list[StreamOverview],
        Field(description="What is wrong first: by standing, in the order given there; then feeds before applications, by name."),
    ]
