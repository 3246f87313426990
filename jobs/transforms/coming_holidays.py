"""What a coming public holiday is taken for, by what past ones of its feed were like."""

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from jobs.transforms.holiday_kinds import Kind, next_like, was_like

ENOUGH = 3  # past holidays that agree
FRIDAY = 5
DECLARED: Kind = "sunday"  # what every public holiday is declared to be like
IN_WORDS: dict[Kind, str] = {"sunday": "a Sunday", "weekday": "its weekday", "itself": "no other day"}


class Past(NamedTuple):
    """A past public holiday. unlike: its unlikeness by kind, as of `holiday_kinds.of_feed`; empty: it could not be judged."""

    date: dt.date
    name: str
    unlike: Mapping[Kind, float]


class Taken(NamedTuple):
    """why: what decided so, in words."""

    like: Kind
    why: str


def is_evidence(past: dt.date, holiday: dt.date) -> bool:
    """Whether what one holiday was like says anything of another. One on a weekend does not show whether people work on it, so it
    speaks for its own weekday only."""
    return past < holiday and (past.isoweekday() <= FRIDAY or past.isoweekday() == holiday.isoweekday())


def taken_for(date: dt.date, name: str, past: Iterable[Past]) -> Taken:
    """As the newest judged holiday of this name, else as all judged ones if these are enough and agree, else as declared.

    Of the past, only what is before the date counts.
    """
    judged = sorted((each for each in past if each.unlike and is_evidence(each.date, date)), key=lambda each: each.date)
    if same := [each for each in judged if each.name == name]:
        like = next_like([same[-1].unlike], DECLARED)
        return Taken(like, f"{name} was like {IN_WORDS[like]} on {same[-1].date}")
    if len(judged) < ENOUGH:
        return Taken(DECLARED, f"as declared: no holiday of this name is known, and fewer than {ENOUGH} others")
    # None and itself are no kind that a holiday without a past can be like.
    first, *others = (was_like(each.unlike, DECLARED) for each in judged)
    if first is None or first == "itself" or any(each != first for each in others):
        return Taken(DECLARED, f"as declared: no holiday of this name is known, and the {len(judged)} others do not agree")
    return Taken(first, f"all {len(judged)} holidays from {judged[0].date} to {judged[-1].date} were like {IN_WORDS[first]}")
