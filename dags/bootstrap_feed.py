"""
# Bootstrap a feed

A capture of the past, CSV or Parquet, becomes the feed's history and its first baseline, so that scoring need not wait for
weeks of live readings. Everything wrong with the capture is listed at once, and nothing of it is loaded then. `docs/bootstrap.md`
says what is checked.

## Run it by hand
*Trigger* with the path of the capture, as the machine that runs Spark sees it, and the columns where they are not named as in the
feed. The baseline is built as of the day after history's last date, at most of today, unless `as_of` says otherwise; then the
gate decides.

## When it fails
- **`bootstrap` is red:** its log lists every mistake of the capture and what to do. History is as it was.
- **`check_baseline` is red:** the history is loaded, but too short or too thin for a baseline that the gate lets pass: `approve`
  waits for you, as `nightly_baseline.<feed>` explains.
"""

import datetime as dt

from airflow.sdk import Param

from contracts.feeds import load_feeds
from dags.feed_dags import MINUTE, RUN_ID, asset, build_check_promote, feed_dag
from dags.spark_job import spark_job


def optional(title: str, description: str, **schema) -> Param:
    return Param(None, type=["string", "null"], maxLength=500, title=title, description=description, **schema)


PARAMS = {
    "path": Param(type="string", minLength=1, maxLength=1000, title="Path", description="File or folder of the capture."),
    "service": optional("Service", "The one service that the capture is of. Empty: a column names it."),
    "service_column": optional("Service column", "Column that names the service. Empty: as the feed's key."),
    "time_column": optional("Time column", "Column of the time. Empty: as the feed's time."),
    "value_column": optional("Value column", "Column of the value. Empty: as the feed's value."),
    "timezone": optional("Time zone", "Whose wall clock times without an offset are of. Empty: the feed's time zone."),
    "time_unit": Param(
        None,
        type=["string", "null"],
        enum=["s", "ms", "us", "ns", None],
        title="Time unit",
        description="Unit of times that are numbers since 1970-01-01 UTC.",
    ),
    "as_of": optional("As of", "Date of the baseline (YYYY-MM-DD). Empty: the day after history's last.", format="date"),
}
OPTIONS = [name for name in PARAMS if name not in ("path", "as_of")]

for feed in load_feeds().values():
    with feed_dag(
        "bootstrap_feed", feed, __doc__, ["batch"], schedule=None, dagrun_timeout=dt.timedelta(hours=20), params=PARAMS
    ):
        bootstrap = spark_job(
            "bootstrap",
            feed.name,
            RUN_ID,
            "--from={{ params.path }}",
            *(f"{{{{ '--{name.replace('_', '-')}=' ~ params.{name} if params.{name} else '' }}}}" for name in OPTIONS),
            outlets=[asset("history", feed)],
            retries=0,  # a capture that is wrong stays wrong
            execution_timeout=120 * MINUTE,
        )
        bootstrap >> build_check_promote(feed, "--as-of={{ params.as_of or day_after_history() }}")
