"""Access logs of web servers: the columns of a line, and the queries that follow from the feeds which count lines."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from contracts.declarations import Declared, Name, TopicName

if TYPE_CHECKING:
    from contracts.feeds import Feed

# Of a line of the Common or Combined Log Format; null where the server wrote a dash, or where the format has no such field.
COLUMNS = ("VirtualHost", "Client", "User", "Timestamp", "Method", "Path", "Status", "Bytes", "Referrer", "Agent")
MILLISECONDS_PER_DAY = 86_400_000
# A server whose clock is ahead by more than that is wrong: its lines would wait for a time that does not come.
NOT_AHEAD = "Timestamp <= RowTime + INTERVAL 1 DAY"


class AccessLog(Declared):
    """The log that a feed counts: where its lines are, and what they count for which service."""

    topic: TopicName  # of the lines, a record each
    counts: Literal["requests", "errors", "server-errors", "bytes"]  # errors: statuses from 400 on; server-errors: from 500 on
    service: Literal["host", "path"]  # whose request it was: the virtual host's, or the first segment of the path's
    # Regular expression that a service's whole name matches; null: every virtual host.
    services: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    others: Name = "other"  # the service for which the other requests count
    lateness_seconds: Annotated[int, Field(ge=0, le=86_400)] = 10  # how late after its interval's end a line may come
    forget_after_days: Annotated[int, Field(ge=1, le=60)] = 7  # a service that is silent for so long has no more readings

    @field_validator("services")
    @classmethod
    def _is_pattern(cls, value: str | None) -> str | None:
        try:
            re.compile(value or "")
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from error
        return value

    @model_validator(mode="after")
    def _paths_are_named(self):
        if self.service == "path" and self.services is None:
            raise ValueError("service: path needs services, e.g. 'shop|search|login': anybody may ask for any path")
        return self


def queries(feeds: Iterable["Feed"]) -> Iterator[dict[str, Any]]:
    """For each log that feeds count, the query that does it, as a file in `schemas/queries` would declare it.

    One query for all feeds of a log: a line is read once, and a malformed one is dead-lettered once.
    """
    by_log: dict[str, list[Feed]] = {}
    for feed in feeds:
        if feed.access_log:
            by_log.setdefault(feed.access_log.topic, []).append(feed)
    for topic, counted in by_log.items():
        name = topic.replace(".", "-")
        of_hosts = any(feed.access_log.service == "host" for feed in counted)
        valid = f"{NOT_AHEAD} AND VirtualHost IS NOT NULL" if of_hosts else NOT_AHEAD
        yield {
            "name": name,
            "description": f"What {', '.join(feed.name for feed in counted)} count of the access log {topic}",
            "application": name,
            # One partition: the order of the lines is the log's, by which its clock goes.
            "inputs": {"lines": {"topic": topic, "encoding": "access-log", "valid": valid, "partitions": 1}},
            "transform": "access_log",
            "parameters": {"feeds": {feed.name: _settings(feed) for feed in counted}},
            "mode": "update",
            "trigger": "5 seconds",
            "outputs": [output for feed in counted for output in _outputs(feed)],
        }


def _settings(feed: "Feed") -> dict[str, Any]:
    """What `jobs/transforms/queries/access_log.py` wants to know of a feed; times in ms."""
    log = feed.access_log
    return {
        "counts": log.counts,
        "service": log.service,
        "services": log.services,
        "others": log.others,
        "interval": feed.interval_seconds * 1000,
        "lateness": log.lateness_seconds * 1000,
        "forget_after": log.forget_after_days * MILLISECONDS_PER_DAY,
    }


def _outputs(feed: "Feed") -> Iterator[dict[str, Any]]:
    """The feed's own topic, and one for what came too late to be in a reading."""
    kept = {"partitions": feed.partitions, "retention_days": feed.retention_days, "compacted": False}
    for topic, late in ((feed.topic, "NOT Late"), (f"{feed.name}.late", "Late")):
        yield {"topic": topic, "record": feed.record, "key": "ServiceName", "when": f"Feed = '{feed.name}' AND {late}", **kept}
