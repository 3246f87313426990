"""What of a capture is played, and where in time: thinned, then shifted, then cut to a window; once, or again and again."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sources.capture import BadRows, Capture, Survey
from sources.readings import between, limited
from sources.shift import Shift, weeks_of, weeks_to_now
from sources.thinning import Thinning


@dataclass(frozen=True)
class Window:
    """start <= Timestamp < end, epoch milliseconds; None leaves that side open."""

    start: int | None = None
    end: int | None = None

    @classmethod
    def around(cls, now: int, live: bool, interval_seconds: int) -> "Window":
        """The history up to now, or from the interval on that is running now; the two meet without gap or overlap."""
        step = interval_seconds * 1000
        running = now // step * step
        return cls(start=running) if live else cls(end=running)


@dataclass
class ReplayPlan:
    """A capture set in time. `left_out` counts readings without a place on the shifted clock, once they were read.

    repeat: whether the capture is played again when it ends. `weeks` alone decides which reading a time has, not when the play
    begins.
    """

    capture: Capture
    survey: Survey
    weeks: int = 0
    window: Window = Window()
    thinning: Thinning | None = None
    limit: int | None = None
    repeat: bool = False
    left_out: int = 0

    @classmethod
    def to_now(
        cls, capture: Capture, now: int, live: bool, thinning: Thinning | None = None, weeks: int | None = None
    ) -> "ReplayPlan":
        """A capture moved so that it reaches past now: its history, or what can be played live from now on.

        weeks: by how many it is moved; None: by as many as `weeks_to_now` says.
        """
        survey, feed = capture.survey(), capture.feed
        weeks = weeks_to_now(survey.last, now, feed.timezone) if weeks is None else weeks
        return cls(capture, survey, weeks, Window.around(now, live, feed.interval_seconds), thinning)

    def readings(self) -> Iterator[pa.RecordBatch]:
        return limited(self._unlimited(), self.limit)

    def _unlimited(self) -> Iterator[pa.RecordBatch]:
        left_out = 0
        for weeks, start in self._rounds():
            shift = Shift(weeks, self.capture.feed.timezone)
            for each in self._set(shift, self.thinning, start):
                self.left_out = left_out + shift.left_out
                yield each
            left_out += shift.left_out

    def total(self) -> int | None:
        """How many readings there are to play; of a thinned capture to within a minute. None where it has no end."""
        if self.repeat:
            return self.limit
        if self.window == Window():
            rows = self.survey.rows
        else:
            shift = Shift(self.weeks, self.capture.feed.timezone)
            rows = sum(each.num_rows for each in self._set(shift, None, self.window.start))
        rows *= self.thinning.factor if self.thinning else 1
        return rows if self.limit is None else min(rows, self.limit)

    def _rounds(self) -> Iterator[tuple[int, int | None]]:
        """By how many weeks the capture is moved each time, and the first moment that is played then: after the time before."""
        yield self.weeks, self.window.start
        if not self.repeat:
            return
        feed, survey = self.capture.feed, self.survey
        weeks, further = self.weeks, weeks_of(survey.first, survey.last, feed.timezone)
        while self.window.end is None or self._last(weeks) < self.window.end:
            after = self._last(weeks) + 1
            weeks += further
            if self.window.start is None or self.window.start <= self._last(weeks):
                yield weeks, after if self.window.start is None else max(after, self.window.start)

    def _last(self, weeks: int) -> int:
        """When the last reading of the capture is, moved by so many weeks."""
        moved, _ = Shift(weeks, self.capture.feed.timezone).instants(np.array([self.survey.last]))
        return int(moved[0])

    def _set(self, shift: Shift, thinning: Thinning | None, start: int | None) -> Iterator[pa.RecordBatch]:
        readings = self.capture.readings(BadRows())  # the survey has noted them
        if thinning:
            readings = thinning.readings(readings)
        if shift.weeks:
            readings = shift.readings(readings)
        return between(readings, start, self.window.end)
