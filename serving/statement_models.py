"""What the API answers of people's statements."""

import datetime as dt
from typing import Annotated, Literal

from pydantic import BaseModel, Field

InForce = Literal["acknowledge", "false", "exclude", "note"]


class StatementInfo(BaseModel):
    """What a person said of an incident or of readings, and nobody took back."""

    feed: str
    statement: Annotated[int, Field(description="Its number, by which it can be taken back.")]
    kind: Annotated[
        InForce,
        Field(
            description="acknowledge: the person looks after the incident. false: the incident is a false alarm. exclude: the"
            " readings from start to end are not normal. note: the reason is a text about the incident."
        ),
    ]
    service: Annotated[str | None, Field(description="Null: all services of the feed; of a group *.")]
    start: Annotated[dt.datetime | None, Field(description="The first moment that it is about, UTC.")]
    end: Annotated[
        dt.datetime | None,
        Field(description="The end, UTC; a reading at this moment is not meant. Null: it was not known when the person said so."),
    ]
    incident: Annotated[str | None, Field(description="Id of the incident that it names; null: it names a range.")]
    by: Annotated[str, Field(description="Who said so.")]
    at: Annotated[dt.datetime, Field(description="When, UTC.")]
    reason: Annotated[str, Field(description="Why; of a note, its text.")]
