"""
# Maintain the tables

Runs every Sunday. It

- deletes dates of `history/<feed>` and of `incidents/<feed>` that are older than the feed's `history_days`, and states of the
  detector that are older than 90 days,
- compacts small files of `gate_results` and of `exclusions/<feed>`, which keep all their rows,
- deletes files that no version of the last 90 days needs.

You can therefore roll back a baseline by up to 90 days. The tables' commit logs are kept longer.

## When it fails

- **`maintain_tables` is red:** nothing is lost; the last line of its log gives the reason. *Clear* the task at any
  time.
"""

import datetime as dt

from airflow.sdk import CronTriggerTimetable

from contracts.feeds import load_feeds
from dags.feed_dags import MINUTE, RUN_ID, feed_dag
from dags.spark_job import spark_job

for feed in load_feeds().values():
    with feed_dag(
        "maintain_tables",
        feed,
        __doc__,
        ["batch"],
        schedule=CronTriggerTimetable("30 4 * * 0", timezone=feed.timezone, run_immediately=False),
        dagrun_timeout=dt.timedelta(hours=6),
    ):
        spark_job("maintain_tables", feed.name, RUN_ID, execution_timeout=120 * MINUTE)
