"""What of a capture is played, and where in time: thinned, then shifted, then cut to a window."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from sources.capture import BadRows, Capture, Survey
from sources.readings import between, limited
from sources.shift import Shift, weeks_to_now
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
    """A capture set in time. `left_out` counts readings without a place on the shifted clock, once they were read."""

    capture: Capture
    survey: Survey
    weeks: int = 0
    window: Window = Window()
    thinning: Thinning | None = None
    limit: int | None = None
    left_out: int = 0

    @classmethod
    def to_now(cls, capture: Capture, now: int, live: bool, thinning: Thinning | None = None) -> "ReplayPlan":
        """A capture moved so that it reaches past now: its history, or what can be played live from now on."""
        survey, feed = capture.survey(), capture.feed
        weeks = weeks_to_now(survey.last, now, feed.timezone)
        return cls(capture, survey, weeks, Window.around(now, live, feed.interval_seconds), thinning)

    def readings(self) -> Iterator[pa.RecordBatch]:
        shift = Shift(self.weeks, self.capture.feed.timezone)
        for each in limited(self._set(shift, self.thinning), self.limit):
            self.left_out = shift.left_out
            yield each

    def total(self) -> int:
        """How many readings there are to play; of a thinned capture to within a minute."""
        if self.window == Window():
            rows = self.survey.rows
        else:
            rows = sum(each.num_rows for each in self._set(Shift(self.weeks, self.capture.feed.timezone), None))
        rows *= self.thinning.factor if self.thinning else 1
        return rows if self.limit is None else min(rows, self.limit)

    def _set(self, shift: Shift, thinning: Thinning | None) -> Iterator[pa.RecordBatch]:
        readings = self.capture.readings(BadRows())  # the survey has noted them
        if thinning:
            readings = thinning.readings(readings)
        if self.weeks:
            readings = shift.readings(readings)
        return between(readings, self.window.start, self.window.end)
