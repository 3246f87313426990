"""
# Archive history

Every hour: what came into the feed's topic since the last time becomes rows of `history/<feed>`. The night archives too, so this
DAG is for feeds whose late readings should not wait for it: where it meets some, `late` names their dates, and the asset
`late.<feed>` starts `repair_history.<feed>`, which brings the baseline up to date.

## When it fails
- **`archive` is red:** broker or registry can't be reached; the last line of the log says which. *Clear* it when the cause is
  gone, or let the next hour do it: nothing is lost while the topic's retention lasts.
"""

import datetime as dt

from airflow.sdk import CronTriggerTimetable, Metadata, task
from airflow.sdk.exceptions import AirflowSkipException

from contracts.feeds import Feed, load_feeds
from dags.feed_dags import MINUTE, archive, asset, feed_dag
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
    ):
        archive(feed) >> late(feed)
