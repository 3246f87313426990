"""Roll the baseline in force back to an older version: one atomic commit on baseline/<feed>, which names that version.

Nothing is copied or lost: the versions between stay, and a rollback can itself be rolled back. No Spark session is started.
"""

import datetime as dt

from jobs import lake, settings
from jobs.settings import JobError, Platform


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    arguments.add_argument("--to-version", required=True, type=int, help="version of baseline/<feed> to put in force again")
    arguments.add_argument("--by", required=True, type=settings.line, help="who rolls back")
    arguments.add_argument("--reason", required=True, type=settings.line, help="why; kept in the table's history")
    options = arguments.parse_args()
    feed, version = options.feed, options.to_version
    table = lake.baseline(platform, feed)
    commits = {commit.version: commit.note for commit in table.commits()}
    if any(note.get("run_id") == options.run_id for note in commits.values()):
        print(f"baseline/{feed.table}: run {options.run_id} has rolled back already", flush=True)
        return
    promoted = sorted(number for number, note in commits.items() if "candidate_version" in note)
    if not promoted:
        raise JobError(f"baseline/{feed.table} has no promoted version to roll back to")
    in_force = promoted.pop()  # upkeep may have made commits since
    if version not in promoted:
        choice = ", ".join(map(str, promoted)) or "none"
        raise JobError(f"--to-version {version}: of baseline/{feed.table}, {in_force} in force, one of: {choice}")
    then = commits[version]
    said = {"run_id": options.run_id, "rolled_back_to": version, "by": options.by, "reason": options.reason}
    at = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
    table.restore(version, then | said | {"at": at})
    print(f"baseline/{feed.table}: version {table.version()} is in force, the same as version {version}", flush=True)


if __name__ == "__main__":
    settings.run(main)
