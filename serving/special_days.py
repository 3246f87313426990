"""What a feed's public holidays and special days are taken for, and why, in words."""

import datetime as dt

from contracts.baseline_log import Entry
from contracts.calendar import AHEAD
from contracts.feeds import Feed
from serving.baseline_models import SpecialDay

DAY = dt.timedelta(days=1)


def special_days(feed: Feed, in_force: Entry | None, today: dt.date) -> list[SpecialDay]:
    """Those that the baseline in force decided on, and those of the two weeks after its as-of date, the last one first."""
    as_of = (in_force and in_force.as_of) or today
    found, why = (in_force.special_days, in_force.special_days_why) if in_force else ({}, {})
    first, last = min([*found, as_of - DAY]), max([*found, as_of + AHEAD])
    calendar = feed.with_found(found).calendar
    entries, names = calendar.special_days(first, last), calendar.public_holidays(first, last)
    days = []
    for day, like in reversed(calendar.taken_for(first, last).items()):
        entry = entries.get(day)
        if entry and entry.like:
            reason = f"as {entry.name}.yaml declares"
        elif day in found:
            reason = why.get(day, "by evidence")
        else:
            reason = "as declared: the baseline in force did not decide on it"
        days.append(SpecialDay(date=day, name=entry.name if entry else names[day], like=like, reason=reason))
    return days
