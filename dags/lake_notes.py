"""What the logs of the lake's tables say about a run: the gate's result, and the dates with late readings."""

import datetime as dt
import json
import os
from dataclasses import dataclass

from contracts.baseline_log import BaselineLog, baseline_log
from contracts.feeds import Feed


@dataclass(frozen=True)
class Refusal:
    """A candidate that the gate refused: its version, the date that it is as of, and the failed expectations."""

    candidate_version: int
    as_of: dt.date
    expectations: list[dict]


def refusal(feed: Feed, run_id: str) -> Refusal | None:
    """The gate's refusal of the candidate that this run has built last; None if it has not judged that, or passed it."""
    table = _table("gate_results")
    if table is None:
        return None
    import pyarrow.dataset as ds  # here and below: when a task runs, not whenever the DAG files are parsed

    of_run = (ds.field("Feed") == feed.name) & (ds.field("RunId") == run_id)
    newest_first = [("CandidateVersion", "descending"), ("CheckedAt", "descending")]
    judged = table.to_pyarrow_dataset().to_table(filter=of_run).sort_by(newest_first).slice(0, 1).to_pylist()
    if not judged or judged[0]["Success"] or judged[0]["CandidateVersion"] != _candidate_of(feed, run_id):
        return None
    failed = [each for each in json.loads(judged[0]["Results"]) if not each["success"] and each["severity"] == "critical"]
    version = judged[0]["CandidateVersion"]
    return Refusal(version, dt.date.fromisoformat(_as_of(feed, version)), failed)


def late_dates(feed: Feed, run_id: str) -> list[str]:
    """The dates, ascending, for which that run archived late readings."""
    notes = (note for _, note in _notes(f"history/{feed.table}") if note.get("run_id") == run_id)
    return sorted({date for note in notes for date in note.get("late", [])})


def day_after_history(feed: Feed) -> str:
    """The as-of date (YYYY-MM-DD) of a baseline from all of history/<feed>: the day after its last date, but not after today,
    whose readings are not complete."""
    dates = [part["Date"] for part in _table(f"history/{feed.table}").partitions()]
    return min(dt.date.fromisoformat(max(dates)) + dt.timedelta(days=1), dt.datetime.now(feed.zone).date()).isoformat()


def promoted(feed: Feed, run_id: str) -> bool:
    """Whether that run put a baseline in force."""
    return _log_of_baseline(feed).of_run(run_id) is not None


def superseded(feed: Feed, refused: Refusal) -> str | None:
    """The as-of date of the baseline in force if it is later than the refused candidate's, else None."""
    in_force = _log_of_baseline(feed).in_force
    return in_force.as_of.isoformat() if in_force and in_force.as_of and in_force.as_of > refused.as_of else None


def _log_of_baseline(feed: Feed) -> BaselineLog:
    table = _table(f"baseline/{feed.table}")
    return baseline_log(table.history() if table else ())


def _candidate_of(feed: Feed, run_id: str) -> int | None:
    """The version of the candidate that this run has built last."""
    notes = _notes(f"baseline_candidate/{feed.table}")
    return next((version for version, note in notes if note.get("run_id") == run_id), None)


def _as_of(feed: Feed, candidate_version: int) -> str:
    return next(note["as_of"] for version, note in _notes(f"baseline_candidate/{feed.table}") if version == candidate_version)


def _notes(name: str) -> list[tuple[int, dict]]:
    """Version and note of a table's commits, newest first; empty while the table does not exist."""
    table = _table(name)
    history = table.history() if table else []
    return [(commit["version"], json.loads(commit.get("userMetadata") or "{}")) for commit in history]


def _table(name: str):
    """A table, opened by delta-rs; None while it does not exist."""
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    try:
        return DeltaTable(f"{os.environ['SUNDIAL_LAKE']}/{name}")
    except TableNotFoundError:
        return None
