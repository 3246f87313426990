"""What is known of each declared feed: its declaration, its history, the baseline in force, its stream. It needs no broker."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from contracts.baseline_log import baseline_log
from contracts.feeds import Feed, load_feeds
from stack.backtest.history import rows_by_date
from stack.errors import first_line
from stack.instance import Instance
from stack.parts.streams import Stream


@dataclass(frozen=True)
class FeedRow:
    """history: how many dates, the first and the last. baseline: the version in force and its date. Both: null if there is none,
    or `problem`, why it can't be read."""

    feed: str
    description: str
    contract: str
    interval_seconds: int
    timezone: str
    stream: str
    history: dict[str, Any] | None
    baseline: dict[str, Any] | None

    @property
    def next_step(self) -> str:
        """What brings the feed on; nothing if it has readings, a baseline and a stream that runs."""
        if self.problems:
            return "see below"
        if self.history and not self.baseline:
            return f"unpause nightly_baseline.{self.feed}"
        if self.stream != "running":
            return f"sundial feeds start {self.feed}"
        return "" if self.history else f"send readings, unpause nightly_baseline.{self.feed}"

    @property
    def problems(self) -> list[str]:
        return [each["problem"] for each in (self.history, self.baseline) if each and "problem" in each]


def feed_rows(instance: Instance) -> list[FeedRow]:
    """The lake is that of SUNDIAL_LAKE, or else of the stack."""
    lake = os.environ.get("SUNDIAL_LAKE") or str(instance.lake)
    return [_row(instance, lake, feed) for feed in load_feeds().values()]


def _row(instance: Instance, lake: str, feed: Feed) -> FeedRow:
    return FeedRow(
        feed.name,
        feed.description,
        feed.record,
        feed.interval_seconds,
        feed.timezone,
        Stream(feed.name, "score").state(instance),
        _of_table(f"{lake}/history/{feed.table}", _history),
        _of_table(f"{lake}/baseline/{feed.table}", _baseline),
    )


def _of_table(path: str, of: Callable[[DeltaTable], dict[str, Any] | None]) -> dict[str, Any] | None:
    try:
        return of(DeltaTable(path))
    except TableNotFoundError:
        return None
    except (DeltaError, OSError, ValueError) as error:
        return {"problem": f"{path} can't be read: {first_line(str(error))}"}


def _history(table: DeltaTable) -> dict[str, Any] | None:
    dates = sorted(rows_by_date(table))
    return {"dates": len(dates), "first": dates[0].isoformat(), "last": dates[-1].isoformat()} if dates else None


def _baseline(table: DeltaTable) -> dict[str, Any] | None:
    log = baseline_log(table.history())
    as_of = log.in_force.as_of if log.in_force else None
    return {"version": log.version_in_force, "as_of": as_of and as_of.isoformat()} if log.in_force else None
