"""What the API answers, with units. Instants are ISO 8601 in UTC."""

import datetime as dt
from typing import Annotated, Literal

from pydantic import BaseModel, Field

At = Annotated[dt.datetime, Field(description="Start of the reporting interval, UTC.")]
Expected = Annotated[
    float | None,
    Field(
        description="What the baseline expects, in the unit of the value: Last4Avg times growth, or the level of the robust "
        "normal where the feed's rule goes by it; null: no baseline here."
    ),
]
Low = Annotated[float | None, Field(description="Lowest value that the feed's rule does not flag; null: no baseline.")]
High = Annotated[float | None, Field(description="Highest value that the feed's rule does not flag; null: no baseline.")]
Percent = Annotated[
    float | None, Field(description="100 * value / expected, in percent; null without a baseline or where it is zero.")
]
LOCAL = "local"  # marks an instant that is written with the offset of the feed's time zone
LocalTime = Annotated[dt.datetime, LOCAL, Field(description="The same instant with the offset of the feed's time zone.")]
Version = Annotated[int | None, Field(description="Delta version of the baseline table; -1 or null: none in force.")]


class Problem(BaseModel):
    """What went wrong and what to do about it (RFC 9457, application/problem+json)."""

    type: Annotated[str, Field(description="Kind of problem, stable for programs.")]
    title: str
    status: Annotated[int, Field(description="HTTP status.")]
    detail: Annotated[str, Field(description="What is wrong with this request.")]
    remedy: Annotated[str, Field(description="What to do about it.")]


class Rule(BaseModel):
    """When a reading is anomalous: every condition that is on (not null) must hold."""

    normal: Annotated[
        Literal["plain", "robust"],
        Field(
            description="What is expected. plain: the mean of four dates, times growth. robust: the level of the robust normal."
        ),
    ]
    percent: Annotated[float | None, Field(description="|percent of the expected value - 100| is greater than this.")]
    spread: Annotated[float | None, Field(description="|value - expected| is greater than this many robust standard deviations.")]
    minimum: Annotated[
        float | None, Field(description="The greater of value and expected is at least this, in the unit of the value.")
    ]


class FeedInfo(BaseModel):
    name: str
    description: str
    interval_seconds: Annotated[int, Field(description="Reporting interval, seconds.")]
    timezone: Annotated[str, Field(description="IANA time zone in which days and slots are counted.")]
    rule: Rule
    services: Annotated[int, Field(description="Services known by live readings, history, the baseline or an open incident.")]
    newest_at: Annotated[dt.datetime | None, Field(description="Time of the newest reading, live or archived; null: none yet.")]
    anomalies: Annotated[int, Field(description="Anomalies held in memory.")]
    baseline_version: Version
    unreadable: Annotated[
        str | None,
        Field(description="Which tables can't be read, so that what they hold is missing here, and why; null: all can be."),
    ]


class ServiceInfo(BaseModel):
    name: str
    at: Annotated[dt.datetime | None, Field(description="Time of the newest scored reading; null: none yet.")]
    value: Annotated[int | None, Field(description="Its value, requests in the interval.")]
    expected: Expected
    pct: Percent
    anomalous: bool | None
    in_baseline: Annotated[bool, Field(description="Whether the baseline in force knows the service.")]


class Point(BaseModel):
    """A reading beside what was expected when it was scored; one that was scored without a baseline, or that only history holds,
    beside what the baseline in force expects."""

    at: At
    value: Annotated[int, Field(description="The reading, requests in the interval.")]
    expected: Expected
    low: Low
    high: High
    pct: Percent
    anomalous: Annotated[bool, Field(description="Whether it broke the rule.")]
    baseline_version: Version


EventKind = Literal["scored", "anomaly", "incident", "promotion", "gate", "stream", "row"]


class ScoredPoint(Point):
    """A point as the events carry it."""

    feed: str
    service: str


class Buckets(BaseModel):
    """Columns of equal length. Bucket i begins at start + i * bucket_seconds. In one of a single interval, min, max and mean are
    the reading. A number is null where there is no reading, or no baseline."""

    count: Annotated[list[int], Field(description="Readings.")]
    min: Annotated[list[float | None], Field(description="The lowest reading, in the unit of the value.")]
    max: Annotated[list[float | None], Field(description="The highest.")]
    mean: Annotated[list[float | None], Field(description="Their mean.")]
    anomalies: Annotated[list[int], Field(description="Readings that broke the rule.")]
    expected: Annotated[list[float | None], Field(description="Mean of what is expected of the bucket's intervals.")]
    low: Annotated[list[float | None], Field(description="Lowest value that the rule does not flag in any of its intervals.")]
    high: Annotated[list[float | None], Field(description="Highest value that the rule does not flag in any of its intervals.")]


class Bucket(BaseModel):
    """One bucket of a series as a row."""

    at: Annotated[dt.datetime, Field(description="Start of the bucket, UTC.")]
    count: Annotated[int, Field(description="Readings.")]
    min: Annotated[float | None, Field(description="The lowest reading, in the unit of the value; null: there is none.")]
    max: Annotated[float | None, Field(description="The highest.")]
    mean: Annotated[float | None, Field(description="Their mean.")]
    anomalies: Annotated[int, Field(description="Readings that broke the rule.")]
    expected: Annotated[float | None, Field(description="Mean of what is expected of the bucket's intervals; null: nothing is.")]
    low: Annotated[float | None, Field(description="Lowest value that the rule does not flag in any of its intervals.")]
    high: Annotated[float | None, Field(description="Highest value that the rule does not flag in any of its intervals.")]


class Series(BaseModel):
    feed: str
    service: str
    interval_seconds: Annotated[int, Field(description="Reporting interval, seconds.")]
    bucket_seconds: Annotated[int, Field(description="Length of a bucket: one interval or more, seconds.")]
    timezone: str
    start: Annotated[dt.datetime, Field(description="Start of the first bucket, UTC.")]
    end: Annotated[
        dt.datetime,
        Field(description="End of the readings' window: as asked for, now, or the newest reading of a replay."),
    ]
    until: Annotated[dt.datetime, Field(description="The last bucket has this instant, UTC.")]
    live: Annotated[
        bool,
        Field(description="Whether the window ends now. False: another was asked for, or the feed's newest reading is older."),
    ]
    loading: Annotated[
        bool, Field(description="Whether readings may be missing that Kafka holds and serving has not read yet since its start.")
    ]
    newest: Annotated[Point | None, Field(description="The newest reading in the window; null: there is none.")]
    buckets: Buckets


class AnomalyInfo(BaseModel):
    feed: str
    service: str
    at: At
    at_local: LocalTime
    value: Annotated[int, Field(description="The reading, requests in the interval.")]
    expected: Annotated[float, Field(description="What the rule compared it with, in the unit of the value.")]
    spread: Annotated[float | None, Field(description="Its robust standard deviation, in the unit of the value.")]
    pct: Percent
    baseline_version: Version


class DeadLetterInfo(BaseModel):
    """A record that could not be read."""

    feed: str
    at: Annotated[dt.datetime, Field(description="When it became a dead letter, UTC.")]
    reason: str
    partition: Annotated[int | None, Field(description="Of the record as it came; null if the letter does not say.")]
    offset: Annotated[int | None, Field(description="Of the record as it came, in that partition.")]
    key: Annotated[str | None, Field(description="Of the record, as text; null: it had none.")]
    size: Annotated[int, Field(description="Bytes of the record's value.")]
    begins: Annotated[str, Field(description="Its first 256 bytes, two hexadecimal digits each.")]


class Verdict(BaseModel):
    """What a person said of an incident."""

    statement: Annotated[int, Field(description="Number of the statement, by which it can be taken back.")]
    kind: Annotated[
        Literal["false", "exclude"],
        Field(
            description="false: it was a false alarm; exclude: its first reading is not normal, and the detector leaves it out."
        ),
    ]
    by: Annotated[str, Field(description="Who said so.")]
    at: Annotated[dt.datetime, Field(description="When, UTC.")]
    reason: str


class Acknowledgement(BaseModel):
    """Who looks after an incident."""

    statement: Annotated[int, Field(description="Number of the statement, by which it can be taken back.")]
    by: Annotated[str, Field(description="Who said so.")]
    at: Annotated[dt.datetime, Field(description="When, UTC.")]
    reason: str


class Note(BaseModel):
    """What a person wrote about an incident."""

    statement: Annotated[int, Field(description="Number of the statement, by which it can be taken back.")]
    by: Annotated[str, Field(description="Who wrote it.")]
    at: Annotated[dt.datetime, Field(description="When, UTC.")]
    text: Annotated[str, Field(description="One line.")]


class IncidentInfo(BaseModel):
    """Readings of one service that deviate together, or that are missing; or a group of such incidents. A silence and a group
    have no sums and no peak."""

    feed: str
    service: Annotated[str, Field(description="The service's name; of a group *.")]
    id: Annotated[str, Field(description="The service and the start; the same when the incident is computed again.")]
    kind: Annotated[str, Field(description="deviation, silence or group.")]
    state: Annotated[str, Field(description="opened, updated or closed.")]
    start: Annotated[dt.datetime, Field(description="Start of the first reading that is unusual or missing, UTC.")]
    start_local: LocalTime
    last: Annotated[dt.datetime, Field(description="Newest unusual reading; of a silence, the reading before it. UTC.")]
    at: Annotated[dt.datetime, Field(description="The reading by which the state became what it is, UTC.")]
    end: Annotated[dt.datetime | None, Field(description="End of the last interval, UTC; null: the incident is open.")]
    score: Annotated[float, Field(description="Highest score of its readings; 0 for a silence.")]
    cause: Annotated[str, Field(description="Why, in words.")]
    level_shift: Annotated[bool, Field(description="Whether the level has changed for good.")]
    readings: Annotated[int, Field(description="Number of unusual readings.")]
    actual: Annotated[float | None, Field(description="Sum of the unusual readings, in the unit of the value.")]
    expected: Annotated[float | None, Field(description="Sum of what was expected instead, in the unit of the value.")]
    area: Annotated[float | None, Field(description="Sum of the absolute differences, in the unit of the value.")]
    direction: Annotated[str | None, Field(description="Side to which its readings deviate: high or low.")]
    peak_at: Annotated[dt.datetime | None, Field(description="Start of the most unusual reading, UTC.")]
    peak: Annotated[float | None, Field(description="Its value.")]
    peak_expected: Annotated[float | None, Field(description="What was expected instead, in the unit of the value.")]
    peak_size: Annotated[float | None, Field(description="Its error, in scales; negative if it is too low.")]
    acknowledgement: Annotated[Acknowledgement | None, Field(description="Who looks after it; null: nobody said so.")]
    verdict: Annotated[Verdict | None, Field(description="The newest statement in force that judges it; null: there is none.")]
    notes: Annotated[list[Note], Field(description="The newest 50 notes about it that are in force, oldest first.")]
    group: Annotated[str | None, Field(description="Id of the group that it is a member of; null: of none.")]
    services: Annotated[int | None, Field(description="Of a group: number of services; else null.")]
    members: Annotated[list[str], Field(description="Of a group: ids of its first 100 members, the first mover first.")]
