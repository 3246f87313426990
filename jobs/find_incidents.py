"""Find incidents: the detector walks through history/<feed>, date by date, to incidents/<feed> and detector/<feed>.

detector/<feed> has the detector's state at the beginning of each date, so a night walks through one date. If readings of an
earlier date came late, were corrected or repaired, the walk begins again at that date: the tables are as if nothing had ever been
late. incidents/<feed> has the events of each date. Readings that a person has excluded (exclusions/<feed>) are left out: after an
exclusion was made or taken back, the walk begins again at the first date that it touches. The same goes for maintenance windows
and special days. No Spark session is started.
"""

import datetime as dt
import hashlib
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from contracts.feeds import Feed
from contracts.incident_queries import of_dates, settings_of
from jobs.backends import detector_states, exclusions, history_table, settings, tables
from jobs.backends.detector_states import Midnight
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.transforms import incident_rows, incident_walk
from jobs.transforms.excluded import Range
from jobs.transforms.incident_walk import Known, Settings

DAYS = 56  # as much as the detector remembers of the slot of a week
DAY_MS = 86_400_000
EPOCH = dt.date(1970, 1, 1)


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    arguments.add_argument("--as-of", type=settings.iso_date, help="local date up to which is walked, excluded (default: today)")
    arguments.add_argument(
        "--days", type=settings.positive, default=DAYS, help="that end with the last of history (default %(default)s)"
    )
    options = arguments.parse_args()
    feed: Feed = options.feed
    as_of = options.as_of or dt.datetime.now(feed.zone).date()
    history = history_table.opened(platform, feed)
    version = history.version()
    if version < 0:
        raise JobError(f"history/{feed.table} does not exist; archive the feed first (jobs/archive.py --feed {feed.name})")
    files = {dt.date.fromisoformat(date): files for date, files in history.fingerprints(version).items()}
    not_normal, declared, special = exclusions.in_force(platform, feed), feed.calendar.windows(), of_dates(feed)["special_days"]
    ranges = {date: exclusions.of_date(not_normal, date, feed) for date in files}
    windows = {date: exclusions.of_date(declared, date, feed) for date in files}
    fingerprints = {date: f"{files[date]} {json.dumps([ranges[date], windows[date], special.get(str(date))])}" for date in files}
    dates = _last(options.days, [date for date in sorted(fingerprints) if date < as_of])
    states, table = tables.detector(platform, feed), tables.incidents(platform, feed)
    how = detector_states.how(settings_of(feed))
    todo, midnight = _todo(states, dates, fingerprints, how)
    readings = history.dataset(version)  # once: of a table of ten years, this takes seconds
    for number, date in enumerate(todo, 1):
        after = date + dt.timedelta(days=1)
        rows = readings.to_table(columns=["ServiceName", "Timestamp", "Slot", "Value"], filter=ds.field("Date") == date)
        known, events = walked(Settings.of(settings_of(feed)), midnight.known, date, rows, ranges[date])
        midnight = Midnight(known, _next(midnight.digest, fingerprints[date], how))
        note = {"run_id": options.run_id, "walked": str(date), "history_version": version}
        found = pa.Table.from_pylist([{"Date": date, **event} for event in events], incident_rows.SCHEMA)
        table.write(iter(found.to_batches() or [_NONE]), [date], note, table.version())
        detector_states.write(states, after, midnight, note)  # last: a run that dies before it walks through the date again
        left_out = len(ranges[date]) + len(windows[date])
        but = f" but for {left_out} excluded ranges" if left_out else ""
        found_in = f"{rows.num_rows:,} readings{but} of {len(known.services)} services, {len(events)} events"
        print(f"{date} ({number} of {len(todo)}): {found_in}", flush=True)
    print(f"incidents/{feed.table}: {len(todo)} of {len(dates)} dates walked", flush=True)


def _last(days: int, dates: list[dt.date]) -> list[dt.date]:
    """Those of the days that end with the last date: history may end long ago. dates: sorted."""
    return [date for date in dates if date > dates[-1] - dt.timedelta(days=days)]


def _todo(
    states: tables.Table, dates: list[dt.date], fingerprints: dict[dt.date, str], how: str
) -> tuple[list[dt.date], Midnight]:
    """(the dates to walk through, what is known at the beginning of the first of them).

    States of before the first date are taken as they are: readings that came so late are not walked through again.
    """
    digests = {date: digest for date, digest in detector_states.digests(states).items() if digest.startswith(how)}
    begins = [
        date for date in digests if dates and date <= dates[0] and not any(date <= other < dates[0] for other in fingerprints)
    ]
    last = max(begins, default=None)
    digest = digests[last] if last else how
    for number, date in enumerate(dates):
        digest, after = _next(digest, fingerprints[date], how), date + dt.timedelta(days=1)
        if digests.get(after) != digest:
            return dates[number:], detector_states.read(states, last) if last else Midnight(Known(), how)
        last = after
    return [], Midnight(Known(), digest)


def walked(settings: Settings, known: Known, date: dt.date, rows: pa.Table, ranges: list[Range]) -> tuple[Known, list[dict]]:
    """(what is known at the end of the date, its events as `incident_rows.COLUMNS`).

    rows: ServiceName, Timestamp, Slot, Value of the date's readings. ranges: readings to leave out.
    """
    services = rows.column("ServiceName").to_pylist()
    names = sorted(set(services))
    at = rows.column("Timestamp").cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64()).to_numpy()
    wall = (date - EPOCH).days * DAY_MS + rows.column("Slot").to_numpy().astype(np.int64) * settings.interval
    values = rows.column("Value").to_numpy().astype(float)
    readings = incident_walk.readings_of(settings, names, services, at, wall, values)
    after, events = incident_walk.followed_through(settings, known, names, readings, int(at.max()), ranges)
    services = {name: each for name, each in {**known.services, **after.services}.items() if name in after.heard}
    return replace(after, services=services), events


def _next(digest: str, fingerprint: str, how: str) -> str:
    """The digest of the state after a date. digest: of the state before it. fingerprint: of the date's files and exclusions."""
    return f"{how}-{hashlib.sha256(f'{digest} {fingerprint}'.encode()).hexdigest()[:16]}"


_NONE = pa.RecordBatch.from_pylist([], incident_rows.SCHEMA)


if __name__ == "__main__":
    settings.run(main)
