"""Upkeep of a feed's tables: what is older than its retention goes, small files are put together, unused files are deleted.

history/<feed> and incidents/<feed> keep the feed's `history_days`; exclusions/<feed> keeps every row. Older versions of every
table stay readable for `--keep-days`: so far back a baseline can be rolled back. No reading, version or file within these is
touched. No Spark session is started.
"""

import datetime as dt

from contracts.feeds import Feed
from jobs.backends import exclusions, settings, tables
from jobs.backends.settings import Platform

STATES_KEPT = 90  # days of detector/<feed>: more than the detector walks through again


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    arguments.add_argument(
        "--keep-days",
        type=settings.positive,
        default=tables.KEEP_DAYS,
        help="age of old versions that stay (default %(default)s)",
    )
    options = arguments.parse_args()
    feed: Feed = options.feed
    note = tables.upkeep_note(options.run_id)
    today = dt.datetime.now(feed.zone).date()
    oldest = today - dt.timedelta(days=feed.history_days)
    expires = {f"history/{feed.table}": oldest, f"incidents/{feed.table}": oldest}
    expires[f"detector/{feed.table}"] = max(oldest, today - dt.timedelta(days=STATES_KEPT))
    kept = {
        f"history/{feed.table}": tables.history(platform, feed),
        f"incidents/{feed.table}": tables.incidents(platform, feed),
        f"detector/{feed.table}": tables.detector(platform, feed),
        f"baseline_candidate/{feed.table}": tables.candidate(platform, feed),
        f"baseline/{feed.table}": tables.baseline(platform, feed),
        f"exclusions/{feed.table}": exclusions.table_of(platform, feed),
        "gate_results": tables.gate_results(platform),
    }
    added_to = {"gate_results", f"exclusions/{feed.table}"}  # row by row, so in small files
    for name, table in kept.items():
        if table.version() < 0:
            print(f"{name}: does not exist yet", flush=True)
            continue
        expired = f"{table.expire(before, note)} dates before {before} expired, " if (before := expires.get(name)) else ""
        compacted = table.compact(note) if name in added_to else 0
        deleted = table.vacuum(options.keep_days, note)
        done = f"{expired}{compacted} small files put together, {deleted} files deleted"
        print(f"{name}: {done}", flush=True)


if __name__ == "__main__":
    settings.run(main)
