"""Competing models of what is normal now: the level, the slot of the day, the slot of the week, a holiday as a Sunday.

Each model expects a value. The one whose errors were smallest in the last day or two is believed. Slots are half an hour long (or
an interval, if that is longer), and values between the middles of two slots are interpolated: so few days suffice to learn them.
"""

from typing import Any, NamedTuple

import numpy as np

from jobs.transforms.detector.moments import DAY, Bools, Floats, Ints, Moment, Pace, average

NAMES = ("level", "day", "week", "holiday")
LEVEL, DAY_SLOT, WEEK_SLOT, HOLIDAY = range(4)
SUNDAY = 6
LEVEL_DAYS = 0.5  # memory of the level
OFFSET_DAYS = 1.0  # memory of how far a season is off in these days
ERROR_DAYS = 1.5  # memory of the errors by which the models compete
DAY_RATE, WEEK_RATE = 0.25, 0.35  # weight of the newest day in a slot
PENALTY = np.array([1.0, 1.03, 1.03, 1.029])  # the simpler model wins a tie; a holiday is what it was declared to be
ENOUGH = 0.5  # days seen of a slot, before a season may compete


class Profile(NamedTuple):
    """Means by slot, shape (services, slots), and how many days each slot has seen. `learn` changes them in place."""

    mean: Floats
    seen: Floats


class Slots(NamedTuple):
    """The two slots between whose middles a moment is, and the second's share."""

    first: Ints
    second: Ints
    share: Floats


class Seasons(NamedTuple):
    """level, seen: one entry per service. offset, error, judged: shape (services, 4), in the order of NAMES."""

    level: Floats
    seen: Floats  # readings so far
    day: Profile
    week: Profile
    offset: Floats
    error: Floats  # mean absolute error
    judged: Floats  # readings behind it


def new_seasons(services: int, pace: Pace) -> Seasons:
    def profile(slots: int) -> Profile:
        return Profile(np.zeros((services, slots)), np.zeros((services, slots)))

    each, four = np.zeros(services), np.zeros((services, 4))
    return Seasons(each, each.copy(), profile(pace.slots), profile(7 * pace.slots), four, four.copy(), four.copy())


def slots_of(moment: Moment, pace: Pace) -> tuple[Slots, Slots, Slots]:
    """Of the day, of the week, and of the week if a holiday is a Sunday."""
    width = DAY / pace.slots
    place = np.asarray(moment.second) / width
    if pace.interval < width:
        place = place - 0.5
    first = np.floor(place).astype(np.int64)
    share = place - first if pace.interval < width else np.zeros_like(place)
    weekday = np.asarray(moment.weekday, np.int64)

    def within(number: Ints, slots: int) -> Slots:
        return Slots(number % slots, (number + 1) % slots, share)

    week = within(weekday * pace.slots + first, 7 * pace.slots)
    on_holiday = moment.holiday if isinstance(moment.holiday, bool) else np.any(moment.holiday)
    sunday = within(np.where(moment.holiday, SUNDAY, weekday) * pace.slots + first, 7 * pace.slots) if on_holiday else week
    return within(first, pace.slots), week, sunday


def models(seasons: Seasons, slots: tuple[Slots, Slots, Slots]) -> tuple[Floats, Bools]:
    """(what each model expects, which of them may compete), both of shape (services, 4)."""
    offset = seasons.offset
    found, seen = np.empty(offset.shape), np.empty(offset.shape)
    found[:, LEVEL], seen[:, LEVEL] = seasons.level, seasons.seen
    day, week, holiday = slots
    read, days = _read((seasons.day, seasons.week), (day, week))
    found[:, DAY_SLOT:HOLIDAY], seen[:, DAY_SLOT:HOLIDAY] = read + offset[:, DAY_SLOT:HOLIDAY], days
    if holiday is not week:
        read, days = _read((seasons.week,), (holiday,))
    found[:, HOLIDAY], seen[:, HOLIDAY] = read[:, -1] + offset[:, HOLIDAY], days[:, -1]
    return found, seen >= ENOUGH


def believed(seasons: Seasons, competing: Bools) -> Ints:
    """Which model each service goes by now.

    On other days than holidays, the model of a holiday has the slots of the week, as that of the week has, but an offset of its
    own. So a holiday that was like a Sunday leaves no offset to the day after it.
    """
    cost = np.where(competing & (seasons.judged > 0), seasons.error * PENALTY, np.inf)
    season: Ints = np.argmin(cost, axis=1)
    return season


def named(season: Ints, moment: Moment) -> Ints:
    """The model that a person is told: on other days than holidays, that of a holiday is the slot of the week."""
    return np.where((season == HOLIDAY) & ~np.asarray(moment.holiday, bool), WEEK_SLOT, season)


def _read(profiles: tuple[Profile, ...], slots: tuple[Slots, ...]) -> tuple[Floats, Floats]:
    """(value, days seen) of each profile at its slots; where only one of the two has been seen, its value."""
    mean, seen = _gathered([(each, slot) for each, of in zip(profiles, slots, strict=True) for slot in (of.first, of.second)])
    first, second, between = seen[:, ::2], seen[:, 1::2], np.asarray(slots[0].share)[..., None]
    share = np.where(first > 0, np.where(second > 0, between, 0.0), 1.0)
    return mean[:, ::2] * (1 - share) + mean[:, 1::2] * share, first * (1 - between) + second * between


def _gathered(places: list[tuple[Profile, Ints]]) -> tuple[Floats, Floats]:
    """(means, days seen) of all services at these slots of profiles, a column each."""
    mean = np.empty((len(places[0][0].mean), len(places)))
    seen = np.empty(mean.shape)
    for column, (profile, slot) in enumerate(places):
        where = _where(len(mean), slot)
        mean[:, column], seen[:, column] = profile.mean[where], profile.seen[where]
    return mean, seen


def _where(services: int, slot: Ints) -> Any:
    """Index of a slot in the table of all services: a slice if it is one for all, which costs less."""
    return (slice(None), int(slot)) if np.ndim(slot) == 0 else (np.arange(services), slot)


def learn(
    seasons: Seasons,
    slots: tuple[Slots, Slots, Slots],
    values: Floats,
    errors: Floats,
    taught: Floats,
    competing: Bools,
    present: Bools,
    everyday: Any,
    pace: Pace,
) -> Seasons:
    """The seasons after these readings. values: readings, as far as they teach. errors: of each model, clipped, (services, 4).

    The tables of the profiles are changed in place, and only where `everyday`: a holiday teaches nothing of its weekday.
    """
    judged = present[:, None] & competing
    _enter(seasons, slots, taught, values, present & everyday, pace)
    return Seasons(
        np.where(
            present & (seasons.seen == 0),
            values,
            average(seasons.level, seasons.level + errors[:, LEVEL], seasons.seen, pace.rate(LEVEL_DAYS), present),
        ),
        seasons.seen + present,
        seasons.day,
        seasons.week,
        np.where(judged, seasons.offset + pace.rate(OFFSET_DAYS) * errors, seasons.offset),
        average(seasons.error, np.abs(errors), seasons.judged, pace.rate(ERROR_DAYS), judged),
        seasons.judged + judged,
    )


def moved(seasons: Seasons, by: Floats) -> Seasons:
    """All models, higher by so much."""
    return seasons._replace(level=seasons.level + by, offset=seasons.offset + by[:, None])


def squared(seasons: Seasons, who: Bools) -> Seasons:
    """The same models in the unit of the readings, for services whose square roots no longer do."""
    rows = np.flatnonzero(who)
    for profile in (seasons.day, seasons.week):
        profile.mean[rows] = np.square(profile.mean[rows])
    factor = np.where(who, 2 * np.abs(seasons.level), 1.0)[:, None]
    level = np.where(who, np.square(seasons.level), seasons.level)
    return seasons._replace(level=level, offset=np.where(who[:, None], 0.0, seasons.offset), error=seasons.error * factor)


def _enter(seasons: Seasons, slots: tuple[Slots, Slots, Slots], taught: Floats, values: Floats, who: Bools, pace: Pace) -> None:
    """Takes readings into their two slots, by their shares: the plain mean at first, then a rate for all of a day together.

    An unknown slot takes the reading as it is, a known one only as far as it teaches.
    """
    (day, week, _), each = slots, max(1.0, pace.per_day / pace.slots)
    if pace.interval < DAY / pace.slots:
        places = [(seasons.day, day.first), (seasons.day, day.second), (seasons.week, week.first), (seasons.week, week.second)]
        shares = np.array([1 - day.share, day.share, 1 - day.share, day.share]).T
        rates = np.array([DAY_RATE, DAY_RATE, WEEK_RATE, WEEK_RATE]) / each
    else:  # a slot is an interval: nothing is between two of them
        places, shares = [(seasons.day, day.first), (seasons.week, week.first)], np.ones(2)
        rates = np.array([DAY_RATE, WEEK_RATE]) / each
    mean, seen = _gathered(places)
    weight = np.where(who[:, None], shares, 0.0)
    step = np.minimum(np.maximum(1 / np.maximum(seen * each + weight, 1e-9), rates) * weight, 1)
    mean = mean + step * (np.where(seen < ENOUGH, values[:, None], taught[:, None]) - mean)
    seen = seen + weight / each
    for column, (profile, slot) in enumerate(places):
        where = _where(len(mean), slot)
        profile.mean[where], profile.seen[where] = mean[:, column], seen[:, column]
