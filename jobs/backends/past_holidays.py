"""What the last holidays of a feed were like, by evidence. What was found out is kept with each candidate, and found out once."""

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from contracts.feeds import Feed
from jobs.backends import history_runs, spark, tables
from jobs.backends.settings import Platform
from jobs.transforms import holiday_evidence, holiday_kinds, normal, weighted_median
from jobs.transforms.holiday_evidence import Compared
from jobs.transforms.holiday_kinds import KINDS, Kind
from jobs.transforms.packed import How

FORMULAS = (holiday_evidence, holiday_kinds, normal, weighted_median)
REACH = dt.timedelta(weeks=normal.DATES + 4)  # of the dates of a robust normal


class Found(TypedDict):
    """made_from: digest of its readings, of those of its own year that it was compared with, and of the formulas.
    unlike: by kind, its unlikeness. like: the kind whose average it belongs to; None: to none."""

    made_from: str
    unlike: dict[Kind, float]
    like: Kind | None


def found(platform: Platform, feed: Feed, as_of: dt.date, version: int, how: How, known: Mapping[str, Found]) -> dict[str, Found]:
    """By date (ISO), of each holiday that may count in a robust normal as of that date and has readings in history.

    version: of history. known: what was found before. The year before a holiday may have gone from history since then, so it is
    no part of the digest: what was found with it stays.
    """
    history = tables.history(platform, feed)
    files = history.fingerprints(version)
    like = declared(feed, as_of)
    result: dict[str, Found] = {}
    for holiday in feed.holiday_dates(as_of - REACH, as_of - dt.timedelta(days=1)):
        name = holiday.isoformat()
        if name not in files:
            continue
        compared = _compared(feed, holiday, like)
        formulas = [hashlib.sha256(Path(module.__file__).read_bytes()).hexdigest() for module in FORMULAS]
        used = [(date.isoformat(), files.get(date.isoformat())) for date in compared.near]
        digest = hashlib.sha256(json.dumps([formulas, how, used], default=str).encode()).hexdigest()[:16]
        before = known.get(name)
        result[name] = (
            before if before and before["made_from"] == digest else _judged(platform, feed, version, compared, how, digest)
        )
        like[holiday] = result[name]["like"]
    return result


def declared(feed: Feed, as_of: dt.date) -> dict[dt.date, Kind | None]:
    """Every holiday that matters is a Sunday, as long as nothing else was found."""
    return dict.fromkeys(feed.holiday_dates(as_of - 2 * REACH, as_of), "sunday")


def _compared(feed: Feed, holiday: dt.date, like: Mapping[dt.date, Kind | None]) -> Compared:
    kinds = holiday_kinds.dates_of_kinds(holiday, like)
    compared = Compared(holiday, kinds[holiday_kinds.SUNDAY], kinds[holiday.isoweekday()])
    before = feed.holidays.year_before(holiday) if feed.holidays else None
    if before is None:
        return compared
    weekdays = holiday_kinds.dates_of_kinds(before, declared(feed, before))[before.isoweekday()]
    return compared._replace(year_before=before, weekdays_before=weekdays)


def _judged(platform: Platform, feed: Feed, version: int, compared: Compared, how: How, digest: str) -> Found:
    session = spark.session(f"build_baseline {feed.name}", platform)
    runs = history_runs.read(session, tables.history(platform, feed), version, compared.dates)
    rows = holiday_evidence.evidence(runs, compared, how).collect()
    unlike = holiday_kinds.of_feed([{kind: row[kind] for kind in KINDS} for row in rows])
    like = holiday_kinds.was_like(unlike)
    figures = ", ".join(f"{kind} {value:.1f}" for kind, value in unlike.items()) or "nothing to compare it with"
    print(f"{compared.holiday}: was like {like or 'no kind of day'}; unlikeness: {figures}", flush=True)
    return {"made_from": digest, "unlike": unlike, "like": like}
