"""Roll the baseline in force back to an older version: one atomic commit on baseline/<feed>, which names that version.

Nothing is copied or lost: the versions between stay, and a rollback can itself be rolled back. No Spark session is started.
"""

import datetime as dt

from jobs.backends import settings, tables
from jobs.backends.settings import Platform
from jobs.errors import JobError


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    arguments.add_argument("--to-version", required=True, type=int, help="version of baseline/<feed> to put in force again")
    arguments.add_argument("--by", required=True, type=settings.line, help="who rolls back")
    arguments.add_argument("--reason", required=True, type=settings.line, help="why; kept in the table's history")
    options = arguments.parse_args()
    feed, version = options.feed, options.to_version
    table = tables.baseline(platform, feed)
    log = tables.log_of_baseline(platform, feed)
    if log.of_run(options.run_id):
        print(f"baseline/{feed.table}: run {options.run_id} has rolled back already", flush=True)
        return
    if log.in_force is None:
        raise JobError(f"baseline/{feed.table} has no promoted version to roll back to")
    notes = {entry.version: entry.note for entry in log.earlier}
    if version not in notes:
        choice = ", ".join(map(str, sorted(notes))) or "none"
        raise JobError(f"--to-version {version}: of baseline/{feed.table}, {log.in_force.version} in force, one of: {choice}")
    rollback = {
        "run_id": options.run_id,
        "rolled_back_to": version,
        "by": options.by,
        "reason": options.reason,
        "at": dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds"),
    }
    table.restore(version, notes[version] | rollback)
    print(f"baseline/{feed.table}: version {table.version()} is in force, the same as version {version}", flush=True)


if __name__ == "__main__":
    settings.run(main)
