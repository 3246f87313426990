"""What a sample says of the feed that it could become: columns, time zone, services, interval."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from contracts.time_formats import TimeFormat
from sources.columns import text_times
from sources.columns import values as counts
from sources.wall_clock import WallClock, first_pass
from stack.errors import StackError
from stack.sample.cells import NUMBER, matching, refuse, refuse_skipped, true
from stack.sample.files import Sample
from stack.sample.pace import Pace, pace, span
from stack.sample.time_column import TRIED, Ask, Times, existing, times_in
from stack.sample.value_column import value_in

SERVICES = 2000  # at most, in a column that is taken for their names
NAMES = ("service", "servicename")


@dataclass(frozen=True)
class Given:
    """What the command line says; the rest is found out. interval: seconds."""

    timestamp: str | None = None
    value: str | None = None
    service: str | None = None
    interval: int | None = None
    timezone: str | None = None
    time_format: TimeFormat | None = None
    value_scale: int | None = None


@dataclass(frozen=True)
class Found:
    """service: the column of their names; null: all rows are of one. first, last: epoch milliseconds. why: how each part was
    found out. scale: what values are multiplied by; null: they are whole numbers. median: of the readings, after that."""

    sample: Sample
    times: Times
    timezone: str
    value: str
    scale: int | None
    median: float
    service: str | None
    services: int
    interval: int
    first: int
    last: int
    why: dict[str, str]


@dataclass(frozen=True)
class _Split:
    """The rows by the services that a column names. clash: two rows of one service and time with different values."""

    column: str | None
    services: int
    instants: np.ndarray
    pace: Pace
    clash: tuple[int, int] | None


def found_in(sample: Sample, given: Given, ask: Ask) -> Found:
    """Asks what the file cannot tell. Raises StackError naming the column, the row and what to do."""
    times = times_in(sample, given.timestamp, given.time_format, ask)
    others = [times.column, given.service]
    value, scale, value_why, present = value_in(sample, given.value, given.value_scale, others, ask)
    sample, times = sample.kept(present), times.kept(present)
    values, _ = counts(sample.columns[value], scale)
    zone, zone_why = _zone(times, given.timezone, ask)
    refuse_skipped(sample.place, times.column, sample.columns[times.column], times.skipped(zone), zone)
    split, service_why = _split(sample, times, zone, values, {times.column, value}, given, ask)
    if split.clash:
        raise _clash(sample, times, zone, value, values, split)
    interval, interval_why = _interval(sample, times, split.pace, given.interval)
    why = {"time": f"{times.why}: {times.shown}", "zone": zone_why, "value": value_why, "service": service_why}
    first, last = int(split.instants.min()), int(split.instants.max())
    median = float(np.median(values))
    return Found(
        sample,
        times,
        zone,
        value,
        scale,
        median,
        split.column,
        split.services,
        interval,
        first,
        last,
        why | {"interval": interval_why},
    )


def _clash(sample: Sample, times: Times, zone: str, value: str, values: np.ndarray, split: _Split) -> StackError:
    one, other = split.clash or (0, 0)
    same = f"time {sample.columns[times.column][other].as_py()!r}"
    if split.column:
        same += f" and service {sample.columns[split.column][other].as_py()!r}"
        remedy = "leave one row for each service and time; or, if another column has the services, name it with --service-column"
    else:
        remedy = "name the column of the services with --service-column, or leave one row for each time"
    if times.local[other]:
        first, second, _ = first_pass(times.stamps[[other]], zone)
        remedy += "; daylight saving repeats this hour: write its times with an offset" if first != second else ""
    what = f"column {value!r} has {values[other]} where an earlier row of the same {same} has {values[one]}"
    return StackError(f"{sample.place(other)}: {what}", remedy=remedy)


def _zone(times: Times, given: str | None, ask: Ask) -> tuple[str, str]:
    if given:
        return given, "--timezone"
    if times.local.any():
        return ask("--timezone", "whose clock shows the local times", []), "as you say"
    return "UTC", "nothing said: a day begins at midnight UTC; --timezone names another"


def _interval(sample: Sample, times: Times, seen: Pace, given: int | None) -> tuple[int, str]:
    if given:
        return given, "--interval"
    if seconds := seen.interval_seconds:
        return seconds, f"the most frequent step of a service: {seen.steps[0][1]:.0%} of all"
    what = f"its most frequent steps are {seen.shown()}" if seen.steps else "no service has two times"
    raise StackError(
        f"{sample.path}: column {times.column!r} does not tell the interval of the readings: {what}",
        remedy="give the span that one reading covers, which divides a day: --interval 10m; "
        "count single events into such spans first",
    )


def _split(
    sample: Sample, times: Times, zone: str, values: np.ndarray, used: set[str], given: Given, ask: Ask
) -> tuple[_Split, str]:
    """The service's column, and how it was found. Without one, if all rows can be of one service."""

    def by(column: str | None) -> _Split:
        return _by(sample, times, zone, values, column, given.interval)

    if given.service:
        column = existing(sample, given.service, "--service-column")
        _refuse_unnamed(sample, column)
        return by(column), "--service-column"
    names = [name for name in sample.columns if name not in used and _names_services(sample.columns[name])]
    if called := [name for name in names if name.lower().replace("_", "") in NAMES]:
        return by(called[0]), "its name"
    alone = by(None)
    if _sound(alone, given):
        return alone, "each time has one value: all rows are of one service"
    sound = [each for each in map(by, names) if _sound(each, given)]
    if not sound:
        return alone, "no column tells services apart"
    if len(sound) == 1:
        return sound[0], "by it, each service and time has one value"
    return by(ask("--service-column", "which column has the services", [each.column or "" for each in sound])), "as you say"


def _sound(split: _Split, given: Given) -> bool:
    return not split.clash and bool(given.interval or split.pace.interval_seconds)


def _names_services(cells: pa.Array) -> bool:
    """Whether these are few different texts, neither numbers nor times."""
    tried = cells.slice(0, TRIED)
    if matching(tried, NUMBER).any() or text_times(tried)[1].any() or true(pc.equal(pc.utf8_trim_whitespace(cells), "")).any():
        return False
    return pc.count_distinct(cells).as_py() <= min(SERVICES, max(1, len(cells) // 2))


def _refuse_unnamed(sample: Sample, column: str) -> None:
    cells = sample.columns[column]
    empty = true(pc.equal(pc.utf8_trim_whitespace(cells), ""))
    refuse(sample.place, column, cells, empty, "is no service's name", "name a service in each row")


def _by(sample: Sample, times: Times, zone: str, values: np.ndarray, column: str | None, interval: int | None) -> _Split:
    names = pc.utf8_trim_whitespace(sample.columns[column]) if column else pa.repeat("", sample.rows)
    coded = names.dictionary_encode()
    services = coded.indices.to_numpy().astype(np.int64)
    instants = _instants(times, names, values, WallClock(zone, interval))
    if times.local.any() and not interval and (seen := pace(services, instants).interval_seconds):
        instants = _instants(times, names, values, WallClock(zone, seen))
    order = np.lexsort((np.arange(len(instants)), instants, services))
    same = (np.diff(services[order]) == 0) & (np.diff(instants[order]) == 0) & (np.diff(values[order]) != 0)
    at = np.flatnonzero(same)
    clash = (int(order[at[0]]), int(order[at[0] + 1])) if len(at) else None
    return _Split(column, len(coded.dictionary), instants, pace(services, instants), clash)


def _instants(times: Times, names: pa.Array, values: np.ndarray, clock: WallClock) -> np.ndarray:
    """Epoch milliseconds of each row."""
    local, instants = times.local, times.stamps.copy()
    if local.any():
        instants[local], _ = clock.instants(instants[local], names.filter(pa.array(local)), values[local])
    return instants


def shown(found: Found) -> list[tuple[str, str, str]]:
    """(part, what was found, from what), for people."""
    service = found.service or "one"
    many = f" ({found.services:,} services)" if found.service else ""
    rows = "all rows of the file" if found.sample.whole else "the first rows; the file has more"
    kind = f"{found.sample.kind}, {found.sample.separator}" if found.sample.separator != "comma" else found.sample.kind
    return [
        ("file", kind, f"{found.sample.rows:,} rows: {rows}"),
        ("time", found.times.column, found.why["time"]),
        ("time zone", found.timezone, found.why["zone"]),
        ("value", f"{found.value} times {found.scale}" if found.scale else found.value, found.why["value"]),
        ("service", service + many, found.why["service"]),
        ("interval", span(found.interval), found.why["interval"]),
    ]
