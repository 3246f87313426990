"""The queries that follow from the feeds which count lines of access logs: one for each log."""

from collections.abc import Iterable, Iterator
from typing import Any

from contracts.access_logs import AccessLog
from contracts.feeds import Feed

MILLISECONDS_PER_DAY = 86_400_000
# A server whose clock is ahead by more than that is wrong: its lines would wait for a time that does not come.
NOT_AHEAD = "Timestamp <= RowTime + INTERVAL 1 DAY"


def declared_queries(feeds: Iterable[Feed]) -> Iterator[dict[str, Any]]:
    """For each log that feeds count, the query that does it, as a file in `schemas/queries` would declare it.

    One query for all feeds of a log: a line is read once, and a malformed one is dead-lettered once.
    """
    by_log: dict[str, list[tuple[Feed, AccessLog]]] = {}
    for feed in feeds:
        if feed.access_log:
            by_log.setdefault(feed.access_log.topic, []).append((feed, feed.access_log))
    for topic, counted in by_log.items():
        name = topic.replace(".", "-")
        of_hosts = any(log.service == "host" for _, log in counted)
        valid = f"{NOT_AHEAD} AND VirtualHost IS NOT NULL" if of_hosts else NOT_AHEAD
        yield {
            "name": name,
            "description": f"What {', '.join(feed.name for feed, _ in counted)} count of the access log {topic}",
            "application": name,
            # One partition: the order of the lines is the log's, by which its clock goes.
            "inputs": {"lines": {"topic": topic, "encoding": "access-log", "valid": valid, "partitions": 1}},
            "transform": "access_log",
            "parameters": {"feeds": {feed.name: _settings(feed, log) for feed, log in counted}},
            "mode": "update",
            "trigger": "5 seconds",
            "outputs": [output for feed, _ in counted for output in _outputs(feed)],
        }


def _settings(feed: Feed, log: AccessLog) -> dict[str, Any]:
    """What `jobs/transforms/queries/access_log.py` wants to know of a feed; times in ms."""
    return {
        "counts": log.counts,
        "service": log.service,
        "services": log.services,
        "others": log.others,
        "interval": feed.interval_seconds * 1000,
        "lateness": log.lateness_seconds * 1000,
        "forget_after": log.forget_after_days * MILLISECONDS_PER_DAY,
    }


def _outputs(feed: Feed) -> Iterator[dict[str, Any]]:
    """The feed's own topic, and one for what came too late to be in a reading."""
    kept = {"partitions": feed.partitions, "retention_days": feed.retention_days, "compacted": False}
    for topic, late in ((feed.topic, "NOT Late"), (f"{feed.name}.late", "Late")):
        yield {"topic": topic, "record": feed.record, "key": "ServiceName", "when": f"Feed = '{feed.name}' AND {late}", **kept}
