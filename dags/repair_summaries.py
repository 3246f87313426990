"""
# Repair metric summaries

Runs every hour and counts in the metric events that came too late for the query's state (they are in the query's topic
of late events). A run

- archives the new events of the topic in `events/<topic>`,
- recomputes each window with late events from all its archived events, with the same query as a batch,
- recomputes the rollups of these windows, and the rollups that a summary reached too late.

Readers get the next revision of each row that has changed.

*Trigger* it if you cannot wait for the hour; `sundial queries repair QUERY` does the same.

## When it fails

- **`repair_summaries` is red:** the last line of its log gives the reason. *Clear* the task when the cause is fixed:
  nothing is counted twice.
- **"holds fewer events than the stream counted":** archiving began after the topic had deleted events of these windows.
  All other windows are repaired. Send the missing events again from their source, with their original Ids, and
  *Trigger* the DAG.
"""

import datetime as dt

from airflow.sdk import CronTriggerTimetable

from contracts.queries import load_queries
from dags.alerts import Alert
from dags.feed_dags import MINUTE, RUN_ID, batch_dag
from dags.lineage import topic
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
            spark_job(
                "repair_summaries",
                None,
                f"--query={query.name}",
                RUN_ID,
                inlets=[topic(each.topic) for each in query.inputs.values()],
                outlets=[topic(each.topic) for each in query.outputs],
                execution_timeout=120 * MINUTE,
            )
