"""
# Repair of metric summaries

Every hour: metric events that came too late for the query's state (its topic of late events) are counted in. What came into the
topic of events is archived in `events/<topic>`; the windows that late events are of are computed anew from all their archived
events, by the same query as a batch, and their rollups after them. So are rollups for which a summary came too late. Readers get
the next revision of each row that has changed.

*Trigger* it when you can't wait for the hour; `sundial queries repair QUERY` does the same.

## When it fails
- **`repair_summaries` is red:** the last line of its log says why. *Clear* it when the cause is gone: nothing is counted twice.
- **"holds fewer events than the stream counted":** archiving began after the topic had deleted events of these windows. All other
  windows are repaired. Send the missing events again from their source (with the Ids that they had), and *Trigger*.
"""

import datetime as dt

from airflow.sdk import CronTriggerTimetable

from contracts.queries import load_queries
from dags.alerts import Alert
from dags.feed_dags import MINUTE, RUN_ID, batch_dag
from dags.spark_job import spark_job

for query in load_queries().values():
    if query.transform == "metric_summaries":
        with batch_dag(
            f"repair_summaries.{query.name}",
            dt.UTC,
            __doc__,
            ["repair", "queries", query.application],
            schedule=CronTriggerTimetable("40 * * * *", timezone="UTC", run_immediately=False),
            dagrun_timeout=dt.timedelta(hours=6),
            on_failure_callback=Alert(f"repair_summaries.{query.name} has failed: late metric events are not counted in."),
        ):
            spark_job("repair_summaries", None, f"--query={query.name}", RUN_ID, execution_timeout=120 * MINUTE)
