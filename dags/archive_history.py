"""
# Archive history

Runs every hour and writes new readings of the feed's topic to `history/<feed>`. `nightly_baseline.<feed>` archives too,
so you need this DAG only if late readings should not wait for the night. If the run finds late readings, the task
`late` names their dates, and the asset `late.<feed>` starts `repair_history.<feed>`, which updates the baseline.

## When it fails

- **`archive` is red:** the broker or the registry cannot be reached; the last line of the log says which. *Clear* the
  task when the cause is fixed, or wait for the next hour. Nothing is lost while the topic's retention lasts.
"""

import datetime as dt

from airflow.sdk import CronTriggerTimetable, Metadata, task
from airflow.sdk.exceptions import AirflowSkipException

from contracts.feeds import Feed, load_feeds
from dags.feed_dags import MINUTE, archive, asset, feed_dag, told_on_failure
from dags.lake_notes import late_dates


def late(feed: Feed):
    met = asset("late", feed)

    @task(task_id="late", outlets=[met], execution_timeout=5 * MINUTE)
    def announce(run_id: str):
        """An event of the asset `late.<feed>` with the dates for which late readings came; skipped where none did."""
        dates = late_dates(feed, run_id)
        if not dates:
            raise AirflowSkipException("no late readings")
        yield Metadata(met, {"from": dates[0], "to": dates[-1], "dates": dates})

    return announce()


for feed in load_feeds().values():
    with feed_dag(
        "archive_history",
        feed,
        __doc__,
        ["batch"],
        schedule=CronTriggerTimetable("20 * * * *", timezone="UTC", run_immediately=False),
        dagrun_timeout=dt.timedelta(hours=3),
        on_failure_callback=told_on_failure("archive_history", feed),
    ):
        archive(feed) >> late(feed)
