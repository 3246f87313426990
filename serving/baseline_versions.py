"""Versions of a baseline and its candidates: what each expects of a service, and what differs between two of them.

A side of a difference is a version, in force or past, or a candidate. It is read as long as its files are kept. Files that two
versions share hold the same rows, so a difference reads only the others: a night rewrites the day types whose readings changed. A
candidate shares no files with a version, but day types that both made from the same inputs have the same rows.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import anyio
import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from contracts.baseline_log import DAY_TYPES, Entry, changed_day_types
from contracts.feeds import Feed
from serving.archive import Archive
from serving.baseline_models import BaselineChange, BaselineRow
from serving.baseline_numbers import change_of, day_of, expected_of, numbers_of
from serving.columns import schema_of
from serving.lake import Lake, version_of
from serving.problems import ProblemError
from serving.tables import HELD_GATE_RESULTS, Tables

KEPT_DIFFERENCES = 16
PARTS = ("Last4Avg", "Samples", "Growth", "Spread", "Level", "Scale")  # a baseline of an earlier release lacks the last two


@dataclass(frozen=True)
class Side:
    """A version of the baseline, or a candidate."""

    version: int
    candidate: bool = False

    def __str__(self) -> str:
        return f"candidate {self.version}" if self.candidate else f"version {self.version} of the baseline"

    def table(self, feed: Feed) -> str:
        return f"baseline_candidate/{feed.table}" if self.candidate else f"baseline/{feed.table}"


class BaselineVersions:
    """Reads `baseline/<feed>` and `baseline_candidate/<feed>` of the lake as of any version in their logs. Safe to call from
    several threads."""

    def __init__(self, tables: Tables):
        self._tables, self._lake = tables, tables.lake
        self._lock = threading.Lock()
        self._differences: OrderedDict[tuple, pa.Table] = OrderedDict()
        self.one = anyio.CapacityLimiter(1)  # one difference is computed at a time

    def asked(self, feed: Feed, version: int | None, candidate: int | None) -> Side | None:
        """The one that a request names, or else the version in force; None: there is none."""
        if version is not None and candidate is not None:
            raise _both("version")
        if candidate is not None:
            return Side(candidate, candidate=True)
        in_force = self._tables.version(feed) if version is None else version
        return None if in_force is None else Side(in_force)

    def compared(self, feed: Feed, before: int | None, after: int | None, candidate: int | None) -> tuple[Side, Side]:
        """The two that a request names. By default the second is the version in force, and the first the one before it; a
        candidate is compared with the version that the gate compared it with, or else with the one in force."""
        if after is not None and candidate is not None:
            raise _both("to")
        second = self.asked(feed, after, candidate)
        if before is None and second is not None:
            before = self._judged_against(feed, second) if second.candidate else self._in_force_before(feed, second)
        if before is None or second is None:
            detail = f"Feed {feed.name} has no version of the baseline that was in force before {second or 'now'}."
            remedy = f"GET /api/feeds/{feed.name}/baseline lists the versions that can be named (from, to)."
            raise ProblemError(404, "unknown-version", "No such version", detail, remedy)
        return Side(before), second

    def _in_force_before(self, feed: Feed, version: Side) -> int | None:
        return next((each.version for each in self._tables.promotions(feed) if each.version < version.version), None)

    def _judged_against(self, feed: Feed, candidate: Side) -> int | None:
        self._entry(feed, candidate)
        results = self._tables.gate_results(feed, HELD_GATE_RESULTS)
        against = next((each.compared_with for each in results if each.candidate_version == candidate.version), None)
        return self._tables.version(feed) if against is None else against

    def of_service(self, feed: Feed, service: str, side: Side, day_type: int | None = None) -> pa.Table:
        """Rows of BaselineRow by day type and slot: of all day types, or of one."""
        here = ds.field("ServiceName") == service
        if day_type is not None:
            here &= ds.field("DayType") == day_type
        dataset = self._open(feed, side).to_pyarrow_dataset()
        names = ["DayType", *(name for name in PARTS if name in dataset.schema.names)]
        try:
            found = dataset.to_table(columns=names, filter=here).sort_by("DayType")
        except FileNotFoundError:
            raise _gone(feed, side) from None
        days = [day_of(feed, numbers_of(found, row)) for row in range(len(found)) if found["Growth"][row].is_valid]
        return pa.concat_tables([schema_of(BaselineRow).empty_table(), *days])

    def differences(self, feed: Feed, before: Side, after: Side) -> pa.Table:
        """Rows of BaselineChange by service and day type: where the expected values of the two differ."""
        sides = (before, after)
        tables = [self._open(feed, side) for side in sides]
        days = self._day_types(feed, sides)
        found = sorted((row for day in days for row in self._of_day(feed, day, tables, sides)), key=_by_service)
        return pa.Table.from_pylist(found, schema_of(BaselineChange))

    def kept(self, feed: Feed, before: Side, after: Side) -> pa.Table | None:
        """The differences, if they were kept."""
        made_of = self._made_of(feed, before, after)
        with self._lock:
            return self._differences.get(made_of)

    def keep(self, feed: Feed, before: Side, after: Side, differences: pa.Table) -> None:
        made_of = self._made_of(feed, before, after)
        with self._lock:
            self._differences[made_of] = differences
            while len(self._differences) > KEPT_DIFFERENCES:
                self._differences.popitem(last=False)

    def _made_of(self, feed: Feed, *sides: Side) -> tuple:
        return feed.name, feed.rule.normal, sides, *(version_of(self._open(feed, side))[0] for side in sides)

    def _day_types(self, feed: Feed, sides: tuple[Side, Side]) -> Iterable[int]:
        """Those of which the two may differ."""
        before, after = (self._entry(feed, side).inputs for side in sides)
        one_table = sides[0].candidate == sides[1].candidate
        return DAY_TYPES if one_table or before is None or after is None else changed_day_types(after, before)

    def _of_day(self, feed: Feed, day: int, tables: list[DeltaTable], sides: tuple[Side, Side]) -> Iterator[dict]:
        datasets = [table.to_pyarrow_dataset() for table in tables]
        parts = [{each.path: each for each in dataset.get_fragments(ds.field("DayType") == day)} for dataset in datasets]
        expected = []
        for dataset, own, others, side in zip(datasets, parts, reversed(parts), sides, strict=True):
            try:
                expected.append(expected_of(feed, dataset, [own[path] for path in own.keys() - others.keys()]))
            except FileNotFoundError:
                raise _gone(feed, side) from None
        for service in expected[0].keys() | expected[1].keys():
            change = change_of(feed, *(each.get(service) for each in expected))
            if change is not None:
                yield {"service": service, "day_type": day} | change

    def _log(self, feed: Feed, side: Side) -> list[Entry]:
        return self._tables.candidates(feed) if side.candidate else self._tables.promotions(feed)

    def _entry(self, feed: Feed, side: Side) -> Entry:
        """What the log says of it. Raises a problem if the log does not have it."""
        log = self._log(feed, side)
        found = next((each for each in log if each.version == side.version), None)
        if found is None:
            known = ", ".join(str(each.version) for each in log[:20]) or "none yet"
            listed = "gate-results" if side.candidate else "baseline"
            remedy = f"GET /api/feeds/{feed.name}/{listed} lists the versions; the newest are: {known}."
            raise ProblemError(404, "unknown-version", "No such version", f"Feed {feed.name} has no {side}.", remedy)
        return found

    def _open(self, feed: Feed, side: Side) -> DeltaTable:
        self._entry(feed, side)
        name = side.table(feed)
        if side.version == self._log(feed, side)[0].version and (newest := self._lake.open(name)) is not None:
            return newest  # only upkeep came after it
        try:
            return DeltaTable(f"{self._lake.root}/{name}", version=side.version)
        except DeltaError:
            raise _gone(feed, side) from None


def differences(archive: Archive, feed: Feed, before: Side, after: Side) -> pa.Table:
    """As `BaselineVersions.differences`, for `long_reads`. It opens the tables, as those that the process has open may be
    older."""
    return BaselineVersions(Tables(Lake(archive.tables.lake.root))).differences(feed, before, after)


def _both(other: str) -> ProblemError:
    detail = f"{other}, candidate: only one of them can be asked for."
    return ProblemError(422, "invalid-parameter", "A parameter is not valid", detail, f"Leave {other} or candidate out.")


def _gone(feed: Feed, side: Side) -> ProblemError:
    detail = f"The files of {side} of {feed.name} were deleted, as they were older than is kept."
    remedy = "Ask for a newer version. maintain_tables says for how many days older ones are kept (--keep-days)."
    return ProblemError(410, "version-gone", "No longer kept", detail, remedy)


def _by_service(row: dict) -> tuple[str, int]:
    return row["service"], row["day_type"]
