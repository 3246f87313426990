"""What the last holidays and special days of a feed were like, by evidence. What was found out is kept with each candidate, and
found out once."""

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from contracts.calendar_entries import Kind
from contracts.feeds import Feed
from jobs.backends import history_runs, spark, tables
from jobs.backends.settings import Platform
from jobs.transforms import holiday_evidence, holiday_kinds, normal, weighted_median
from jobs.transforms.holiday_evidence import Compared
from jobs.transforms.holiday_kinds import KINDS
from jobs.transforms.packed import How

FORMULAS = (holiday_evidence, holiday_kinds, normal, weighted_median)
REACH = dt.timedelta(weeks=normal.DATES + 4)  # of the dates of a robust normal
DAY, AHEAD = dt.timedelta(days=1), dt.timedelta(weeks=2)  # a baseline that old is in force at most


class Found(TypedDict):
    """made_from: digest of its readings, of those of its own year that it was compared with, of what is declared and of the
    formulas. unlike: by kind, its unlikeness. like: the kind that it was like; None: none. A holiday is among the dates of this
    kind's average; a special day is not."""

    made_from: str
    unlike: dict[Kind, float]
    like: Kind | None


def found(platform: Platform, feed: Feed, as_of: dt.date, version: int, how: How, known: Mapping[str, Found]) -> dict[str, Found]:
    """By date (ISO), of each holiday and special day that has readings in history and may count in a robust normal as of that
    date, or from which `taken_for` follows.

    version: of history. known: what was found before. The year before a holiday may have gone from history since then, so it is
    no part of the digest: what was found with it stays.
    """
    history = tables.history(platform, feed)
    files = history.fingerprints(version)
    like = of_averages(feed, as_of, {})
    result: dict[str, Found] = {}
    for day, kind in (feed.calendar.declared(as_of - REACH, as_of - DAY) | _past(feed, as_of)).items():
        name = day.isoformat()
        if name not in files:
            continue
        declared = kind or "weekday"
        compared = _compared(feed, day, of_averages(feed, day, {}) | like)
        formulas = [hashlib.sha256(Path(module.__file__).read_bytes()).hexdigest() for module in FORMULAS]
        used = [(date.isoformat(), files.get(date.isoformat())) for date in compared.near]
        digest = hashlib.sha256(json.dumps([formulas, how, used, declared], default=str).encode()).hexdigest()[:16]
        before = known.get(name)
        if not before or before["made_from"] != digest:
            before = _judged(platform, feed, version, compared, how, declared, digest)
        result[name] = before
        if day not in feed.calendar.special_days(day, day):
            like[day] = before["like"]
    return dict(sorted(result.items()))


def of_averages(feed: Feed, as_of: dt.date, found: Mapping[str, Found]) -> dict[dt.date, Kind | None]:
    """Of every holiday and special day that matters as of that date, the kind whose average has it among its dates; None: none.

    A holiday is a Sunday, as long as nothing else was found. A special day is in no average.
    """
    first, calendar = as_of - 2 * REACH, feed.calendar
    like = {dt.date.fromisoformat(day): each["like"] for day, each in found.items()}
    special = calendar.special_days(first, as_of)
    return {day: None if day in special else like.get(day, kind) for day, kind in calendar.declared(first, as_of).items()}


def taken_for(feed: Feed, as_of: dt.date, found: Mapping[str, Found]) -> dict[str, Kind]:
    """By date (ISO), what the special days around that date are taken for of which nothing is declared: what their past dates
    were like, and as long as nothing is known of these, their weekday."""
    expected: dict[str, Kind] = {}
    for day, entry in feed.calendar.special_days(as_of - DAY, as_of + AHEAD).items():
        if entry.like is None:
            past = [found[str(each)]["unlike"] for each in entry.days if each < day and str(each) in found]
            expected[str(day)] = holiday_kinds.next_like(past, "weekday")
    return expected


def _past(feed: Feed, as_of: dt.date) -> dict[dt.date, Kind | None]:
    """The past dates of special days that come within two weeks, and of which nothing is declared."""
    ahead = feed.calendar.special_days(as_of - DAY, as_of + AHEAD).values()
    return {day: None for entry in ahead if entry.like is None for day in entry.days if day < as_of}


def _compared(feed: Feed, day: dt.date, like: Mapping[dt.date, Kind | None]) -> Compared:
    kinds = holiday_kinds.dates_of_kinds(day, like)
    compared = Compared(day, kinds[holiday_kinds.SUNDAY], kinds[day.isoweekday()])
    before = feed.calendar.year_before(day)
    if before is None:
        return compared
    weekdays = holiday_kinds.dates_of_kinds(before, of_averages(feed, before, {}))[before.isoweekday()]
    return compared._replace(year_before=before, weekdays_before=weekdays)


def _judged(platform: Platform, feed: Feed, version: int, compared: Compared, how: How, declared: Kind, digest: str) -> Found:
    session = spark.session(f"build_baseline {feed.name}", platform)
    runs = history_runs.read(session, tables.history(platform, feed), version, compared.dates)
    rows = holiday_evidence.evidence(runs, compared, how).collect()
    unlike = holiday_kinds.of_feed([{kind: row[kind] for kind in KINDS} for row in rows])
    like = holiday_kinds.was_like(unlike, declared)
    figures = ", ".join(f"{kind} {value:.1f}" for kind, value in unlike.items()) or "nothing to compare it with"
    print(f"{compared.holiday}: was like {like or 'no kind of day'}; unlikeness: {figures}", flush=True)
    return {"made_from": digest, "unlike": unlike, "like": like}
