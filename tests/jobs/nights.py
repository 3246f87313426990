"""Nights of one feed on a lake of their own: nine weeks of hourly readings, builds, the gate, promotions and rollbacks."""

import datetime as dt

from contracts.feeds import load_feed
from jobs import build_baseline, check_baseline, promote_baseline, rollback_baseline
from jobs.backends import tables
from jobs.backends.history_table import merge
from tests.jobs.readings import arrived

FEED = load_feed("road-traffic")
FIRST = dt.date(2026, 10, 1)  # Veterans Day, Thanksgiving and the end of daylight saving come within nine weeks
AS_OF = dt.date(2026, 11, 30)


def readings(date: dt.date, hours=range(24), services=("I-94", "I-35"), value=100, offset=0):
    at = [dt.datetime.combine(date, dt.time(hour), FEED.zone).astimezone(dt.UTC) for hour in hours]
    return [(service, each, value + each.hour + each.day, 0, offset) for service in services for each in at]


def arrive(spark, platform, rows) -> None:
    """As archiving brings them in."""
    merge(spark, tables.history(platform, FEED), arrived(spark, FEED, rows), {"offsets": {}})


def build(run_job, platform, run_id, as_of, *more):
    run_job(build_baseline, platform, "--feed", FEED.name, "--run-id", run_id, "--as-of", str(as_of), *more)


def rows_of(spark, platform, table=tables.candidate, version: int | None = None) -> list:
    return sorted(map(tuple, table(platform, FEED).read(spark, version).collect()))


def night(run_job, platform, run_id, as_of, *more):
    build(run_job, platform, run_id, as_of, *more)
    run_job(check_baseline, platform, "--feed", FEED.name, "--run-id", run_id)
    promote(run_job, platform, run_id)


def promote(run_job, platform, run_id, *more):
    run_job(promote_baseline, platform, "--feed", FEED.name, "--run-id", run_id, "--by", "tests", *more)


def roll_back(run_job, platform, run_id, version):
    run_job(
        rollback_baseline,
        platform,
        *("--feed", FEED.name, "--run-id", run_id, "--to-version", str(version), "--by", "mara", "--reason", "wrong holiday"),
    )
