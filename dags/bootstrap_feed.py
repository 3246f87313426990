"""
# Bootstrap a feed

Loads a capture of the past (CSV, JSON lines or Parquet) as the feed's history and builds the first baseline, so that scoring need
not wait for weeks of live readings. All mistakes in the capture are listed at once; if there are any, nothing is
loaded. `docs/bootstrap.md` lists the checks.

## Run it by hand

*Trigger* it with the path of the capture, as seen by the machine that runs Spark. Name the columns if their names
differ from the feed's. The baseline is built as of the day after the last date in history, but not later than today;
`as_of` sets another date. The gate then decides.

## When it fails

- **`bootstrap` is red:** its log lists every mistake of the capture and what to do. The history is unchanged.
- **`check_baseline` is red:** the history is loaded, but it is too short or has too few readings to pass the gate.
  `approve` waits for your decision; see the runbook of `nightly_baseline.<feed>`.
"""

import datetime as dt

from airflow.sdk import Param

from contracts.captures import HIGHEST_SCALE, SEPARATORS, UNITS
from contracts.feeds import load_feeds
from contracts.time_formats import EXAMPLE
from dags.feed_dags import MINUTE, RUN_ID, asset, build_check_promote, feed_dag
from dags.spark_job import spark_job


def optional(title: str, description: str, **schema) -> Param:
    return Param(None, type=["string", "null"], maxLength=500, title=title, description=description, **schema)


PARAMS = {
    "path": Param(type="string", minLength=1, maxLength=1000, title="Path", description="File or folder of the capture."),
    "service": optional("Service", "The service of all rows. Empty: a column names it."),
    "service_column": optional("Service column", "Column of the service. Empty: the feed's key."),
    "time_column": optional("Time column", "Column of the time. Empty: the feed's time."),
    "value_column": optional("Value column", "Column of the value. Empty: the feed's value."),
    "value_scale": Param(
        None,
        type=["integer", "null"],
        minimum=1,
        maximum=HIGHEST_SCALE,
        title="Value scale",
        description="Values are multiplied by it and rounded: 1000 counts 2.5 s as 2500 ms. Empty: values are whole numbers.",
    ),
    "timezone": optional("Time zone", "Time zone of times without an offset. Empty: the feed's time zone."),
    "time_unit": Param(
        None,
        type=["string", "null"],
        enum=[*UNITS, None],
        title="Time unit",
        description="Unit of times that are numbers since 1970-01-01 UTC.",
    ),
    "time_format": optional("Time format", f"How times are written that are not ISO 8601: {EXAMPLE}"),
    "separator": Param(
        None,
        type=["string", "null"],
        enum=[*SEPARATORS, None],
        title="Separator",
        description="What stands between the fields of a CSV. Empty: commas.",
    ),
    "as_of": optional("As of", "Date of the baseline (YYYY-MM-DD). Empty: the day after the last in history.", format="date"),
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
