"""What the API answers of baselines and of the gate. Instants are ISO 8601 in UTC."""

import datetime as dt
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, WithJsonSchema

from contracts.calendar_entries import Kind
from serving.models import Expected


class PromotionInfo(BaseModel):
    """A commit that changed the baseline in force. What it does not say of itself is null."""

    version: Annotated[int, Field(description="Delta version of the baseline table.")]
    kind: Annotated[
        Literal["promotion", "rollback", "write"],
        Field(description="write: no promotion; a commit that names no candidate."),
    ]
    promoted_at: dt.datetime
    by: Annotated[str | None, Field(description="Who promoted, approved or rolled back.")]
    reason: str | None
    gate: Annotated[
        bool | None, Field(description="Whether the gate passed the candidate; false: a person approved it nevertheless.")
    ]
    as_of: Annotated[dt.date | None, Field(description="The local date before which the baseline's dates lie.")]
    candidate_version: Annotated[int | None, Field(description="Delta version of the candidate that was promoted.")]
    rolled_back_to: Annotated[int | None, Field(description="Version that a rollback put in force again; else null.")]
    run_id: Annotated[str | None, Field(description="Run that promoted or rolled back.")]


class SpecialDay(BaseModel):
    """What readings of a public holiday or a special day are compared with."""

    date: Annotated[dt.date, Field(description="A local date of the feed.")]
    name: Annotated[str, Field(description="Of the public holiday, or of the file that declares the special day.")]
    like: Annotated[
        Kind,
        Field(description="sunday, weekday: with what is expected of a Sunday, of its own weekday. itself: with nothing."),
    ]
    reason: Annotated[str, Field(description="What decided so: a declaration, or the evidence of past days.")]


class PromotionEvent(PromotionInfo):
    """A commit that changed the baseline in force, as the events carry it."""

    feed: str


class Baseline(BaseModel):
    version: Annotated[
        int | None,
        Field(description="Version in force, as streams report it; null: no baseline was promoted yet."),
    ]
    in_force: Annotated[PromotionInfo | None, Field(description="Null: no baseline was promoted yet.")]
    history: Annotated[
        list[PromotionInfo], Field(description="What changed the baseline in force, newest first; the first is in force.")
    ]
    special_days: Annotated[
        list[SpecialDay],
        Field(description="Public holidays and special days of the past months and the next two weeks, the last one first."),
    ]


class Expectation(BaseModel):
    expectation: str
    severity: Annotated[str, Field(description="critical: its failure refuses the candidate; warning: it refuses nothing.")]
    notes: Annotated[str, Field(description="What it is about.")]
    success: bool
    observed: Any
    sample: Annotated[list[Any], Field(description="First rows at fault.")]


class GateOutcome(BaseModel):
    """Whether the gate lets a candidate through."""

    run_id: str
    candidate_version: int
    compared_with: Annotated[
        int | None,
        Field(description="Version of the baseline that it was compared with; null: none was in force, or it is not known."),
    ]
    checked_at: dt.datetime
    success: Annotated[bool, Field(description="Whether it may be promoted: no expectation failed, but for warnings.")]


class GateEvent(GateOutcome):
    """The same as the events carry it."""

    feed: str


class GateResultInfo(GateOutcome):
    expectations: list[Expectation]
    docs_url: Annotated[
        str | None, Field(description="Path of Great Expectations' own report (Data Docs); null: there is none any more.")
    ]


# `time` of JSON Schema has an offset from UTC; what clocks show has none.
ClockTime = Annotated[
    dt.time, WithJsonSchema({"type": "string", "pattern": "^[0-9]{2}:[0-9]{2}:[0-9]{2}$", "examples": ["14:24:00"]})
]
DayType = Annotated[int, Field(description="1 Monday … 7 Sunday.")]


class BaselineRow(BaseModel):
    """What a version or a candidate knows of one service, day type and slot. A number is null where it knows none."""

    day_type: DayType
    slot: Annotated[int, Field(description="Number of the interval in the local day, from 0 on.")]
    local_time: Annotated[ClockTime, Field(description="When it begins, by the feed's clocks.")]
    expected: Expected
    last4avg: Annotated[float | None, Field(description="Mean of the last four dates of the day type, in the unit of the value.")]
    samples: Annotated[int | None, Field(description="Dates that have a reading in this slot.")]
    growth: Annotated[float, Field(description="Factor of the service and day type; 1 unless the feed grows.")]
    spread: Annotated[float | None, Field(description="Robust standard deviation around last4avg, in the unit of the value.")]
    level: Annotated[float | None, Field(description="Level of the robust normal, in the unit of the value.")]
    scale: Annotated[float | None, Field(description="Scale of the robust normal, in the unit of the value.")]


class BaselineChange(BaseModel):
    """A service and day type whose expected values differ between two versions of a baseline, or a version and a candidate."""

    service: str
    day_type: DayType
    change: Annotated[
        Literal["added", "removed", "changed"],
        Field(description="added: only the version `to`, or the candidate, knows it; removed: only `from` does."),
    ]
    slots: Annotated[int | None, Field(description="Slots whose expected value differs; null if not both know them.")]
    mean_before: Annotated[float | None, Field(description="Mean of what the version `from` expects of an interval of the day.")]
    mean_after: Annotated[float | None, Field(description="Likewise of the version `to`, or of the candidate.")]
    pct: Annotated[float | None, Field(description="100 * mean_after / mean_before, in percent.")]
    largest: Annotated[float | None, Field(description="Largest change of a slot, after - before, in the unit of the value.")]
    largest_at: Annotated[ClockTime | None, Field(description="When that slot begins, by the feed's clocks.")]
