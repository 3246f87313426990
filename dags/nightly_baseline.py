"""
# Nightly baseline

Every night, for each feed: what should its traffic be? Four Spark jobs in a row, each safe to repeat:

| task | does | writes |
|---|---|---|
| `archive` | reads what is new in the feed's topic | `history/<feed>` |
| `build_baseline` | averages the last four dates of each kind of day | `baseline_candidate/<feed>` |
| `check_baseline` | **the gate**: the feed's expectations against the candidate | `gate_results`, Data Docs |
| `promote_baseline` | one commit puts the candidate in force; running streams take it up within seconds | `baseline/<feed>` |

## Run it by hand
*Trigger*, or `POST /api/v2/dags/nightly_baseline/dagRuns` with
`{"logical_date": null, "conf": {"feeds": ["service-use"], "as_of": "2024-05-01"}}`. Both fields are optional.
The schedule works on the feeds of the Variable `sundial_feeds`.

## When it fails
- **`check_baseline` is red: the candidate was refused.** The baseline in force is untouched and the streams go on with it. The
  task's log ends with each failed expectation and sample rows; the Data Docs show the rest. It is not retried: the same
  candidate would be refused again. Find the cause in the history (a missing day? a replay with wrong times?), repair it and
  trigger anew.
- **`archive` is red:** broker or registry can't be reached, or a record can't be read; the last line of the log says which.
  Nothing is lost while the topic's retention lasts: *Clear* the task when the cause is gone.
- **`build_baseline` is red:** most often too little history, or memory (`spark.driver.memory` in `dags/spark_job.py`).
- **`promote_baseline` is red:** no passed gate result of this run, or somebody else promoted meanwhile. *Clear* it to try again.
"""

import datetime as dt

from airflow.sdk import DAG, Asset, CronTriggerTimetable, Param, task_group

from dags.feeds_to_run import FEEDS, feeds_to_run
from dags.spark_job import spark_job

HISTORY, CANDIDATE, BASELINE = (
    Asset(name, uri=f"sundial://lake/{name}") for name in ("history", "baseline_candidate", "baseline")
)
AS_OF = Param(
    None,
    type=["string", "null"],
    format="date",
    title="As of",
    description="Build the baseline as it would have been on this date (YYYY-MM-DD). Empty: as of the night of the run.",
)
# As --option=value, so that no value can be taken for an option. Airflow admits only [A-Za-z0-9_.~:+-] in a run id.
RUN_ID = "--run-id={{ run_id }}"

with DAG(
    dag_id="nightly_baseline",
    schedule=CronTriggerTimetable("0 1 * * *", timezone="UTC", run_immediately=False),
    start_date=dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=dt.timedelta(hours=5),
    default_args={"owner": "sundial", "retries": 2, "retry_delay": dt.timedelta(seconds=30)},
    params={"feeds": FEEDS, "as_of": AS_OF},
    tags=["sundial", "batch", "baseline"],
    doc_md=__doc__,
):

    @task_group
    def baseline(feed: str):
        archive = spark_job("archive", feed, outlets=[HISTORY], execution_timeout=dt.timedelta(hours=1))
        build = spark_job(
            "build_baseline",
            feed,
            RUN_ID,
            "{{ '--as-of=' ~ params.as_of if params.as_of else '' }}",
            inlets=[HISTORY],
            outlets=[CANDIDATE],
            execution_timeout=dt.timedelta(hours=2),
        )
        check = spark_job("check_baseline", feed, RUN_ID, inlets=[CANDIDATE], retries=0, execution_timeout=dt.timedelta(hours=1))
        promote = spark_job(
            "promote_baseline",
            feed,
            RUN_ID,
            "--by={{ dag_run.triggering_user_name or 'nightly_baseline' }}",
            inlets=[CANDIDATE],
            outlets=[BASELINE],
            execution_timeout=dt.timedelta(minutes=15),
        )
        archive >> build >> check >> promote

    baseline.expand(feed=feeds_to_run())
