"""What the lake's tables say of a run, read from their logs: the gate's verdict, and the dates for which late readings came."""

import datetime as dt
import json
import os
from dataclasses import dataclass

from contracts.feeds import Feed


@dataclass(frozen=True)
class Refusal:
    """A candidate that the gate refused: its version, the failed expectations, and where the Data Docs are."""

    candidate_version: int
    expectations: list[dict]
    docs_path: str


def refusal(feed: Feed, run_id: str) -> Refusal | None:
    """The gate's refusal in that run; None where it judged nothing, or passed the candidate."""
    table = _table("gate_results")
    if table is None:
        return None
    import pyarrow.dataset as ds  # here and below: when a task runs, not whenever the DAG files are parsed

    of_run = (ds.field("Feed") == feed.name) & (ds.field("RunId") == run_id)
    judged = table.to_pyarrow_dataset().to_table(filter=of_run).sort_by([("CheckedAt", "descending")]).slice(0, 1).to_pylist()
    if not judged or judged[0]["Success"]:
        return None
    failed = [each for each in json.loads(judged[0]["Results"]) if not each["success"] and each["severity"] == "critical"]
    return Refusal(judged[0]["CandidateVersion"], failed, judged[0]["DocsPath"])


def late_dates(feed: Feed, run_id: str) -> list[str]:
    """The dates, ascending, for which that run's archiving met late readings."""
    table = _table(f"history/{feed.table}")
    notes = [json.loads(commit.get("userMetadata") or "{}") for commit in table.history()] if table else []
    return sorted({date for note in notes if note.get("run_id") == run_id for date in note.get("late", [])})


def day_after_history(feed: Feed) -> str:
    """The day after the last date of history/<feed>, which a baseline of all of it is as of (YYYY-MM-DD)."""
    dates = [part["Date"] for part in _table(f"history/{feed.table}").partitions()]
    return (dt.date.fromisoformat(max(dates)) + dt.timedelta(days=1)).isoformat()


def _table(name: str):
    """A table as delta-rs sees it; None while it does not exist."""
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    try:
        return DeltaTable(f"{os.environ['SUNDIAL_LAKE']}/{name}")
    except TableNotFoundError:
        return None
