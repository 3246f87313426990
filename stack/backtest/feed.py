"""A backtest of a feed's own history: the detector's walk through its dates, as the night takes it, written as it goes."""

import datetime as dt
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from contracts.incidents import Incidents
from jobs.transforms.detector import incident_life, layout
from jobs.transforms.detector.detector import Score, State, new_state
from jobs.transforms.detector.moments import Ints
from jobs.transforms.detector.rules import gap_of
from jobs.transforms.detector.walk import Readings, walked
from jobs.transforms.incident_walk import Settings
from jobs.transforms.public_holidays import on_holiday
from stack.backtest import output_lines
from stack.backtest.episodes import EpisodeWalk
from stack.backtest.history import Day, History
from stack.backtest.incidents import incident_ids
from stack.backtest.suggestion import Load, Reported, Wanted, goes_by_the_score
from stack.errors import StackError

NEVER = -1  # when a service had its newest reading, if it had none
Progress = Callable[[int, int, int], None]  # dates walked, of how many, readings so far


@dataclass(frozen=True)
class Span:
    """dates: those that are walked, ascending. written: the first whose rows are written. counted: the first whose incidents are
    counted. last: the last date."""

    dates: list[dt.date]
    written: dt.date
    counted: dt.date
    last: dt.date

    @property
    def weeks(self) -> float:
        return ((self.last - self.counted).days + 1) / 7

    @property
    def warmup(self) -> int:
        """Dates with history before those that are counted."""
        return sum(date < self.counted for date in self.dates)


def span_of(history: History, first: dt.date | None, last: dt.date | None, warmup: int) -> Span:
    """The dates from first to last, both included, and so many days before them, as far as there is history.

    Without `first`, all of history is written, and its first part is the warm-up: at most half of it. Raises StackError for dates
    without history.
    """
    oldest, newest = history.dates[0], history.dates[-1]
    there = f"the history of {history.feed.name} has dates from {oldest} to {newest}"
    for option, date in (("--from", first), ("--to", last)):
        if date and not oldest <= date <= newest:
            raise StackError(f"{option} {date} is outside of it: {there}", remedy="choose dates that are there")
    written, last = first or oldest, last or newest
    if last < written:
        raise StackError(f"--to {last} is before {written}", remedy=there)
    counted = first or written + dt.timedelta(days=min(warmup, ((last - written).days + 1) // 2))
    dates = [date for date in history.dates if written - dt.timedelta(days=warmup) <= date <= last]
    if not any(date >= written for date in dates):
        raise StackError(f"no readings from {written} to {last}", remedy=there)
    return Span(dates, written, counted, last)


class FeedWalk:
    """Walks through a span of a feed's history. Afterwards: rows, how many were written; names, of all services; reported, the
    incidents that are counted; load, for `suggestion`."""

    def __init__(self, history: History, span: Span, incidents: Incidents, settings: Settings, per_week: float | None):
        self._history, self._span, self._incidents, self._settings = history, span, incidents, settings
        zone = history.feed.zone
        self._counted_from = int(dt.datetime.combine(span.counted, dt.time(), zone).timestamp() * 1000)
        self._state: State = new_state(0, settings.pace)
        self._rules, self._free = settings.rules_of([]), np.zeros(0, bool)
        self._excluded = history.excluded()
        self._retired, self._heard = np.zeros(0, bool), np.zeros(0, np.int64)  # by service; epoch milliseconds
        self._open: dict[str, incident_life.Incident] = {}
        self._counted: dict[str, tuple[int, incident_life.Incident]] = {}  # by id: when it was opened, as it is now
        self._episodes = EpisodeWalk(gap_of(settings.interval))
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}
        self.rows = 0
        self.load = None if per_week is None else Load(Wanted(per_week, span.weeks), self._counted_from)

    def write(self, path: Path, progress: Progress) -> None:
        """One line for each reading, by time, those of one time by service."""
        readings = 0
        with path.open("wb") as file, ThreadPoolExecutor(1) as writer:
            file.write((",".join((*output_lines.HEADER, "service")) + "\n").encode())
            written: Future | None = None
            for number, (date, day) in enumerate(self._days(), 1):
                found = self._walked(day, number == len(self._span.dates))
                if written:
                    written.result()  # so that no more than one date waits to be written
                if date >= self._span.written:
                    written = writer.submit(_write, file, day, *found)
                    self.rows += len(day.at)
                readings += len(day.at)
                progress(number, len(self._span.dates), readings)
            if written:
                written.result()

    @property
    def reported(self) -> list[Reported]:
        """By their openings."""
        return [
            Reported(each.id, self._numbers[each.service], opened, each.last, each.direction, each.score)
            for opened, each in sorted(self._counted.values(), key=lambda pair: pair[0])
        ]

    def _days(self) -> Iterator[tuple[dt.date, Day]]:
        """Each date is read while the one before it is walked through."""
        with ThreadPoolExecutor(1) as reader:
            ahead = reader.submit(self._history.day, self._span.dates[0])
            for date, after in zip(self._span.dates, [*self._span.dates[1:], None], strict=True):
                day = ahead.result()
                if after:
                    ahead = reader.submit(self._history.day, after)
                yield date, day

    def _walked(self, day: Day, last: bool) -> tuple[Score, Ints, pa.Array]:
        """(score, onset, id of the incident) of each reading of the date."""
        services = self._known(day.names)[day.service]
        holiday = np.repeat(on_holiday(day.wall[:1], self._settings.holidays, self._settings.special), len(day.wall))
        readings = Readings(services, day.at, day.wall, holiday, day.value)
        left_out = self._settings.left_out(self.names, readings, self._excluded) | self._retired[services]
        readings = readings._replace(value=np.where(left_out, np.nan, readings.value))
        self._forget(services, day.at)
        self._state, score = walked(self._state, readings, self._settings.pace)
        self._open, events, onsets = incident_life.followed(self._open, self.names, readings, score, self._rules)
        for event in events:
            if event.state == "opened" and event.at >= self._counted_from:
                self._counted[event.incident.id] = event.at, event.incident
        for each in [*(event.incident for event in events), *self._open.values()]:
            if each.id in self._counted:
                self._counted[each.id] = self._counted[each.id][0], each
        if self.load:
            episodes = self._episodes.ended(readings, score, self._rules, last)
            self.load.add(episodes, self._rules, self._free)
        return score, onsets, incident_ids(self.names, services, onsets)

    def _forget(self, services: Ints, at: Ints) -> None:
        """Services that come again after so long a time are new. services, at: of the date's readings, by time."""
        again, first = np.unique(services, return_index=True)
        heard = self._heard[again]
        gone = again[(heard != NEVER) & (at[first] - heard >= self._settings.forget)]
        if len(gone):
            self._state = layout.renewed(self._state, gone, self._settings.pace)
            self._open = {name: each for name, each in self._open.items() if self._numbers[name] not in gone}
            if self.load:
                self._episodes.forget(gone)
        np.maximum.at(self._heard, services, at)

    def _known(self, names: list[str]) -> Ints:
        """Their numbers; what is new gets a number and an empty state."""
        new = [name for name in names if name not in self._numbers]
        if new:
            self._numbers |= {name: number for number, name in enumerate(new, len(self.names))}
            self.names += new
            self._state = layout.joined(self._state, new_state(len(new), self._settings.pace))
            self._retired = np.array([self._settings.is_retired(name) for name in self.names], bool)
            self._heard = np.concatenate([self._heard, np.full(len(new), NEVER)])
            self._rules = self._settings.rules_of(self.names)
            self._free = goes_by_the_score(self._incidents, self.names)
        return np.array([self._numbers[name] for name in names], np.int64)


def _write(file: BinaryIO, day: Day, score: Score, onsets: Ints, ids: pa.Array) -> None:
    columns = output_lines.cells(_times(day.at), day.given, day.value, score, onsets, ids)
    names = output_lines.quoted(pa.array(day.names, pa.string()))
    output_lines.write(file, [*columns, names.take(pa.array(day.service))])


def _times(at: Ints) -> pa.Array:
    """In UTC: 2026-11-23T12:00:10Z, with milliseconds if there are any."""
    coded = pa.array(at).dictionary_encode()
    unit = "s" if not (at % 1000).any() else "ms"
    times = coded.dictionary.cast(pa.timestamp("ms")).cast(pa.timestamp(unit))
    text = [each.replace(" ", "T") + "Z" for each in times.cast(pa.string()).to_pylist()]
    return pa.array(text, pa.string()).take(coded.indices)
