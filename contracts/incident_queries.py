"""The query that follows from the feeds: it finds the incidents of all of them."""

import datetime as dt
from collections.abc import Iterable
from typing import Any

from contracts.feeds import Feed
from contracts.incidents import IncidentRule, Incidents

NAME = "incidents"  # of the query, and of its application
AHEAD = "30 seconds"  # of a reading's time before the broker's clock: one beyond would make all others late, and silent
TRIGGER = "5 seconds"  # as Spark works on a whole batch each time, for the timers, even if no reading came
MOST_PER_BATCH = 100_000  # the detector needs minutes for 500,000, and the supervision kills a driver that stands still for five
OF_DATES = ("special_days", "windows")  # of the settings, what concerns some dates alone
SERVICE = "KeyOfRecord"  # the column of the service's name: no field of a contract is called so


def declared_query(feeds: Iterable[Feed]) -> dict[str, Any]:
    """As a file in `schemas/queries` would declare it. One query for all feeds: it costs one batch, not one each."""
    feeds = list(feeds)
    return {
        "name": NAME,
        "description": f"Incidents of {', '.join(feed.name for feed in feeds)}",
        "application": NAME,
        "inputs": {feed.table: _input(feed) for feed in feeds},
        "transform": NAME,
        "begins_with": "detector",
        "parameters": {"feeds": {feed.table: settings_of(feed) for feed in feeds}},
        "outputs": [_output(feed) for feed in feeds],
        "delivery": "exactly-once",  # nobody is woken twice
        "most_per_batch": MOST_PER_BATCH,
        "trigger": TRIGGER,
    }


def _input(feed: Feed) -> dict[str, Any]:
    named = f"octet_length({SERVICE}) BETWEEN 1 AND {feed.longest_service}"
    return {
        "topic": feed.topic,
        "record": feed.record,
        "key": {"column": SERVICE},
        "time": "event",
        "timestamp": f"`{feed.time}`",
        "most_ahead": AHEAD,
        "most_behind": feed.oldest,
        "valid": f"`{feed.value}` >= 0 AND {named}",
        "dead_letters": False,
    }


def settings_of(feed: Feed) -> dict[str, Any]:
    """What `jobs/transforms` needs to know of a feed to find its incidents; interval and forget in ms."""
    holidays = feed.holidays
    return {
        "service": SERVICE,
        "value": feed.value,
        "interval": feed.interval_seconds * 1000,
        "timezone": feed.timezone,
        "holidays": "-".join(filter(None, (holidays.country, holidays.subdivision))) if holidays else None,
        **of_dates(feed),
        **of_incidents(feed.incidents),
    }


def of_dates(feed: Feed) -> dict[str, Any]:
    """As `settings_of`, what concerns some dates alone: by date, whether a special day is declared to be like a Sunday; and the
    maintenance windows: pattern of services, start and end in epoch ms."""
    special = feed.calendar.special_days(dt.date.min, dt.date.max)
    return {
        "special_days": {str(day): entry.like == "sunday" for day, entry in special.items()},
        "windows": [[each.services, _ms(each.start), _ms(each.end)] for each in feed.calendar.windows()],
    }


def of_incidents(incidents: Incidents) -> dict[str, Any]:
    """What is an incident and what is a group: as `settings_of`, without what else is to be known of a feed."""
    return {
        "rules": [{"services": pattern, **_rule(rule)} for pattern, rule in incidents.rules()],
        "retired": list(incidents.retired),
        "forget": incidents.forget_days * 86_400_000,
        "group": incidents.group and incidents.group.model_dump(),
    }


def _ms(instant: dt.datetime) -> int:
    return round(instant.timestamp() * 1000)


def _rule(rule: IncidentRule) -> dict[str, Any]:
    needed, within = rule.needed_within
    conditions = rule.model_dump(include={"score", "percent", "spread", "minimum", "silence"})
    return conditions | {"needed": needed, "within": within}


def _output(feed: Feed) -> dict[str, Any]:
    kept = {"partitions": feed.partitions, "retention_days": feed.retention_days}
    return {"topic": feed.incidents_topic, "record": "incident", "key": "Id", "when": f"Feed = '{feed.table}'", **kept}
