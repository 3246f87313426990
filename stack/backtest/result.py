"""A backtest of a capture as a whole: its rows, their scores, its incidents, and what one counts of them."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from contracts.incident_queries import of_incidents
from contracts.incidents import Incidents
from jobs.transforms.detector.detector import Score
from jobs.transforms.detector.incident_life import NO_INCIDENT
from jobs.transforms.detector.moments import Bools, Ints
from jobs.transforms.detector.reasons import reason
from jobs.transforms.detector.rules import gap_of
from jobs.transforms.detector.walk import Readings
from jobs.transforms.incident_walk import Settings
from stack.backtest import output_lines
from stack.backtest.episodes import EpisodeWalk
from stack.backtest.incidents import Incident, incident_ids, incidents_of
from stack.backtest.plain import last_four_average, plain_anomalies
from stack.backtest.rows import Rows
from stack.backtest.suggestion import Load, Reported, Wanted, goes_by_the_score
from stack.backtest.walk import onsets_by, scored

WEEK_MS = 7 * 86_400_000


@dataclass(frozen=True)
class Backtest:
    """onsets: of the incident of each row, epoch milliseconds or NO_INCIDENT. counted_from: epoch milliseconds from which
    incidents are counted."""

    rows: Rows
    settings: Settings
    readings: Readings
    score: Score
    onsets: Ints
    counted_from: int

    @cached_property
    def ids(self) -> pa.Array:
        return incident_ids(self.rows.names, self.rows.services, self.onsets)

    @cached_property
    def incidents(self) -> list[Incident]:
        return incidents_of(self.rows, self.score, self.ids.to_pylist())

    @cached_property
    def opened(self) -> Bools:
        """Which rows open an incident."""
        return opening(self.rows, self.onsets)

    @cached_property
    def average(self) -> np.ndarray:
        """Last4Avg of each row."""
        return last_four_average(self.rows, self.settings.pace.interval, self.readings.holiday)

    @cached_property
    def plain(self) -> Bools:
        """Which rows the plain rule flags."""
        return plain_anomalies(self.rows.values, self.average)

    @property
    def weeks(self) -> float:
        """From `counted_from` to the end; at least a hundredth."""
        return max((int(self.rows.instants.max()) - self.counted_from) / WEEK_MS, 0.01)

    @property
    def reported(self) -> list[Reported]:
        """The incidents that are counted, by their openings."""
        by_id = {each.id: each for each in self.incidents}
        rows = np.flatnonzero(self.opened & (self.rows.instants >= self.counted_from))
        found = []
        for row in rows[np.argsort(self.rows.instants[rows], kind="stable")].tolist():
            each = by_id[self.ids[row].as_py()]
            at, service = int(self.rows.instants[row]), int(self.rows.services[row])
            found.append(Reported(each.id, service, at, each.end, each.direction, each.highest))
        return found

    def per_week(self, flags: np.ndarray) -> float:
        """Flagged rows a week."""
        return float(np.count_nonzero(flags & (self.rows.instants >= self.counted_from)) / self.weeks)

    def opened_by(self, incidents: Incidents) -> Bools:
        """Which rows open an incident by another rule."""
        other = of_capture(self.settings.interval // 1000, self.settings.holidays, incidents)
        return opening(self.rows, onsets_by(other, self.rows.names, self.readings, self.score))

    def load(self, incidents: Incidents, per_week: float) -> Load:
        """How many incidents the rule opens by its score. per_week: how many are wanted."""
        load, names = Load(Wanted(per_week, self.weeks), self.counted_from), self.rows.names
        rules = self.settings.rules_of(names)
        episodes = EpisodeWalk(gap_of(self.settings.interval)).ended(self.readings, self.score, rules, last=True)
        load.add(episodes, rules, goes_by_the_score(incidents, names))
        return load


def of_capture(interval: int, holidays: str | None, incidents: Incidents) -> Settings:
    """interval: seconds. holidays: of a country or a part of it: US, US-MN."""
    return Settings.of(
        {"interval": interval * 1000, "holidays": holidays, "special_days": {}, "windows": [], **of_incidents(incidents)}
    )


def backtest(rows: Rows, settings: Settings, warmup: int) -> Backtest:
    """Walks the rows. warmup: seconds from the first row that are scored but not counted; at most half of the capture."""
    readings, score = scored(rows, settings)
    onsets = onsets_by(settings, rows.names, readings, score)
    first, last = int(rows.instants.min()), int(rows.instants.max())
    return Backtest(rows, settings, readings, score, onsets, first + min(warmup * 1000, (last - first) // 2))


def opening(rows: Rows, onsets: Ints) -> Bools:
    """Which rows are the first of their incidents, by these onsets."""
    order = np.lexsort((rows.instants, rows.services))
    order = order[onsets[order] != NO_INCIDENT]
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(rows.services[order]) != 0) | (np.diff(onsets[order]) != 0)
    found = np.zeros(len(onsets), bool)
    found[order[first]] = True
    return found


def write(result: Backtest, path: Path, explain: bool) -> None:
    """One line for each row of the capture, in its order."""
    rows, score = result.rows, result.score
    header: tuple[str, ...] = output_lines.HEADER
    columns = output_lines.cells(rows.timestamps, rows.given, rows.values, score, result.onsets, result.ids)
    if explain:
        header = (*header, "service", "reason")
        reasons = pa.array([reason(score, row) for row in range(len(rows.values))])
        columns += [output_lines.quoted(pa.array(rows.names).take(pa.array(rows.services))), output_lines.quoted(reasons)]
    with path.open("wb") as file:
        file.write((",".join(header) + "\n").encode())
        output_lines.write(file, columns)
