"""The detector's walk through the rows of a capture, and the incidents that a rule finds."""

from jobs.transforms.detector.detector import Score, new_state
from jobs.transforms.detector.incident_life import followed
from jobs.transforms.detector.moments import Ints
from jobs.transforms.detector.walk import Readings, walked
from jobs.transforms.incident_walk import Settings
from jobs.transforms.public_holidays import on_holiday
from stack.backtest.rows import Rows


def scored(rows: Rows, settings: Settings) -> tuple[Readings, Score]:
    """(the readings of a capture, the detector's score of each), in the file's order."""
    readings = Readings(
        rows.services, rows.instants, rows.wall, on_holiday(rows.wall, settings.holidays, settings.special), rows.values
    )
    _, score = walked(new_state(len(rows.names), settings.pace), readings, settings.pace)
    return readings, score


def onsets_by(settings: Settings, names: list[str], readings: Readings, score: Score) -> Ints:
    """Of the incident of each reading, by the rules of these settings: epoch milliseconds or NO_INCIDENT."""
    return followed({}, names, readings, score, settings.rules_of(names))[2]
