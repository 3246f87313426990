"""What the API answers of the platform itself: streams, Kafka, mistakes. Instants are ISO 8601 in UTC."""

import datetime as dt
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from serving.models import Version


class StreamHealth(BaseModel):
    measured_at: dt.datetime | None
    lag_records: Annotated[float | None, Field(description="Records of its topic that wait.")]
    lag_seconds: Annotated[float | None, Field(description="How long the oldest of them has waited.")]
    input_per_second: Annotated[float | None, Field(description="Records that come in, over ten seconds.")]
    dead_letters: Annotated[float | None, Field(description="Records dead-lettered since the query started.")]
    dead_letters_per_second: Annotated[float | None, Field(description="Over ten seconds.")]
    stalled_seconds: Annotated[float | None, Field(description="How long none was done while some waited.")]


class StreamInfo(BaseModel):
    feed: str
    stream: str
    state: Annotated[
        Literal["running", "starting", "swapping", "stopping", "stopped", "dead", "stale"],
        Field(description="dead: its process is gone; stale: the process lives but has not reported for 10 s."),
    ]
    since: Annotated[dt.datetime | None, Field(description="Since when it is in this state; null: not known.")]
    problem: Annotated[str | None, Field(description="What is wrong and where to look; null: nothing.")]
    given_up: Annotated[bool, Field(description="Whether restarting has not helped, and no driver has run well since.")]
    switched_off: Annotated[bool, Field(description="Whether it has ended because a person wants that.")]
    restarts: Annotated[int, Field(description="Drivers launched after one that died, since a driver last ended on request.")]
    launched_at: Annotated[dt.datetime | None, Field(description="When its supervision last launched a driver.")]
    supervised_at: Annotated[dt.datetime | None, Field(description="When its supervision last looked; null: it has none.")]
    pid: int | None
    started_at: dt.datetime | None
    heartbeat_at: dt.datetime | None
    heartbeat_age_seconds: Annotated[float | None, Field(description="Seconds since the driver last reported.")]
    baseline_version: Version
    generation: int | None
    query_started_at: dt.datetime | None
    last_error: str | None
    spark_application: str | None
    spark_history: Annotated[str | None, Field(description="Its page at Spark's history server; null: there is none.")]
    health: Annotated[StreamHealth, Field(description="Measured at the broker; null: not known.")]


class KafkaHealth(BaseModel):
    state: Literal["connecting", "connected", "unreachable"]
    error: str | None
    silent_seconds: Annotated[float, Field(description="Since the thread that follows Kafka last came to a turn.")]
    as_of: Annotated[
        dt.datetime | None, Field(description="Until when the topics are read; null: they were not yet read to their ends.")
    ]
    caught_up: Annotated[bool, Field(description="Whether every partition was once read to its end.")]
    missing_topics: Annotated[list[str], Field(description="Topics that do not exist yet, or that serving may not read.")]
    records: Annotated[int, Field(description="Records read since start.")]
    undecodable: Annotated[int, Field(description="Records left out because they did not decode.")]
    last_undecodable: Annotated[str | None, Field(description="topic-partition-offset and reason of the last of them.")]


class CrowdedFeed(BaseModel):
    """A feed that had more services than serving keeps readings of."""

    feed: str
    evicted_services: Annotated[
        int, Field(description="How often since start a service that the baseline does not know was dropped for another.")
    ]
    turned_away_readings: Annotated[
        int, Field(description="Readings since start of services that found no room, not even by dropping another.")
    ]
    example: Annotated[str, Field(description="The service that was dropped or found no room last.")]


class Standstill(BaseModel):
    """A thread or process of serving that does not do its work."""

    name: Annotated[str, Field(description="A thread or process: live, backlog, lake-watch, … or `table` and a topic.")]
    seconds: Annotated[float, Field(description="Since it last came to a turn.")]
    died: Annotated[bool, Field(description="Whether it has ended; else it stands still.")]


class Health(BaseModel):
    status: Annotated[
        Literal["ok", "degraded"], Field(description="degraded: it answers, but something that it reads is missing.")
    ]
    at: Annotated[dt.datetime, Field(description="The server's time, UTC.")]
    kafka: KafkaHealth
    registry_error: str | None
    declaration_mistakes: Annotated[
        list[str], Field(description="Of feeds and queries, each with its file and field; those declared before stay in use.")
    ]
    crowded: Annotated[list[CrowdedFeed], Field(description="Feeds that had more services than serving keeps.")]
    standstills: Annotated[list[Standstill], Field(description="Threads and processes that have died or stand still.")]
    listeners: Annotated[int, Field(description="Pages that listen to /api/events.")]
    remedies: Annotated[list[str], Field(description="What to do about each thing amiss.")]
