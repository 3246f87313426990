"""What the last holidays and special days of a feed were like, by evidence, and what the coming ones are taken for. What was
found out is kept with each candidate, and found out once."""

import datetime as dt
import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypedDict

from contracts.baseline_log import Entry
from contracts.calendar import AHEAD
from contracts.calendar_entries import Kind
from contracts.feeds import Feed
from jobs.backends import history_runs, spark, tables
from jobs.backends.settings import Platform
from jobs.transforms import coming_holidays, holiday_evidence, holiday_kinds, normal, weighted_median
from jobs.transforms.coming_holidays import IN_WORDS, Past, Taken
from jobs.transforms.holiday_evidence import Compared
from jobs.transforms.holiday_kinds import KINDS
from jobs.transforms.packed import How

FORMULAS = (holiday_evidence, holiday_kinds, normal, weighted_median)
REACH = dt.timedelta(weeks=normal.DATES + 4)  # of the dates of a robust normal
DAY, YEAR = dt.timedelta(days=1), dt.timedelta(days=364)
LEAST_PAST = dt.timedelta(weeks=normal.LEAST_DATES)  # of history before a holiday that can be judged


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
    counting = feed.calendar.declared(as_of - REACH, as_of - DAY)
    for day, kind in (counting | _past(feed, as_of, files.keys())).items():
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
        if day in counting and day not in feed.calendar.special_days(day, day):
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


def taken_for(feed: Feed, as_of: dt.date, found: Mapping[str, Found], in_force: Entry | None) -> dict[dt.date, Taken]:
    """What the public holidays and special days around that date are taken for of which no entry says what they are like.

    The evidence is of dates before each. A day of before the day before stays what the baseline in force takes it for: so what
    readings are compared with does not change later on.
    """
    first, last = as_of - DAY, as_of + AHEAD
    before, why = (in_force.special_days, in_force.special_days_why) if in_force else ({}, {})
    kept = {day: Taken(kind, why.get(day, "by evidence")) for day, kind in before.items() if as_of - REACH <= day < first}
    taken: dict[dt.date, Taken] = {}
    for day, entry in feed.calendar.special_days(first, last).items():
        if entry.like is None:
            dates = [each for each in entry.days if each < min(day, as_of) and str(each) in found]
            like = holiday_kinds.next_like([found[str(each)]["unlike"] for each in dates], "weekday")
            known = f"its past dates, {', '.join(map(str, dates))}, were most like {IN_WORDS[like]}"
            taken[day] = Taken(like, known if dates else "none of its past dates is known")
    names = feed.calendar.public_holidays(dt.date.fromisoformat(min(found)), as_of - DAY) if found else {}
    past = [Past(each, name, found[str(each)]["unlike"]) for each, name in names.items() if str(each) in found]
    for day, name in feed.calendar.public_holidays(first, last).items():
        taken[day] = coming_holidays.taken_for(day, name, past)
    return dict(sorted((kept | taken).items()))


def _past(feed: Feed, as_of: dt.date, history: Collection[str]) -> dict[dt.date, Kind | None]:
    """By date, what is declared of the past special days and public holidays that are evidence of one within two weeks: its own
    past dates; of a public holiday its newest date in history, or if there is none, all holidays of a year.

    history: its dates (ISO).
    """
    first, last, calendar = as_of - DAY, as_of + AHEAD, feed.calendar
    ahead = calendar.special_days(first, last).values()
    past: dict[dt.date, Kind | None] = {day: None for entry in ahead if entry.like is None for day in entry.days if day < as_of}
    oldest = dt.date.fromisoformat(min(history, default=str(as_of))) + LEAST_PAST
    holidays = {day: name for day, name in calendar.public_holidays(oldest, as_of - DAY).items() if str(day) in history}
    for coming, name in calendar.public_holidays(first, last).items():
        evidence = [day for day in holidays if coming_holidays.is_evidence(day, coming)]
        same = [day for day in evidence if holidays[day] == name][-1:]
        past |= dict.fromkeys(same or [day for day in evidence if day >= as_of - YEAR], "sunday")
    return past


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
