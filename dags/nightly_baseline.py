"""
# Nightly baseline

Every night at one o'clock where the feed lives: what should its traffic be? Spark jobs in a row, each safe to repeat:

| task | does | writes |
|---|---|---|
| `archive` | reads what is new in the feed's topic; late readings go to their own date | `history/<feed>` |
| `build_baseline` | averages the last four dates of each kind of day whose readings have changed | `baseline_candidate/<feed>` |
| `check_baseline` | **the gate**: the feed's expectations against the candidate | `gate_results`, Data Docs |
| `approve` | only when the gate refused: asks a person, for twelve hours | |
| `promote_baseline` | one commit puts the candidate in force; running streams take it up within seconds | `baseline/<feed>` |

## Run it by hand
*Trigger*, or `POST /api/v2/dags/nightly_baseline.<feed>/dagRuns` with `{"logical_date": null, "partition_key": "2024-05-01"}`.
A run's *partition key* is its night's date where the feed lives: the baseline is built as of that date, as it would have been
then; left empty, as of today. The Param `full` computes all kinds of day, whatever has changed. A baseline of an earlier date
than the one in force stays a candidate, and nobody can approve it.

## Past nights
*Trigger > Backfill*, or `airflow backfill create --dag-id nightly_baseline.<feed> --from-date ... --to-date ...`: each partition
gives the candidate that would have been, from the readings of the dates before it as history holds them now. A backfilled one
is promoted only where no newer baseline is in force; else it stays a candidate, in `baseline_candidate/<feed>`, and
`promote_baseline` is skipped. The window is of instants: to end with the night of the 3rd, `--to-date 2024-05-03T01:00`. Unpause
the DAG first, or the runs wait; `--max-active-runs 1` keeps them in order.

## Who hears of it
A refused candidate, a failed run, and a run that has promoted nothing five hours after its start (06:00 for the night's own) are
posted to the webhook `SUNDIAL_ALERT_WEBHOOK`.

## When it fails
- **`check_baseline` is red: the candidate was refused.** The baseline in force is untouched and the streams go on with it. The
  task's log ends with each failed expectation and sample rows; the Data Docs show the rest. A refusal is not retried: the
  same candidate would be refused again. `approve` now waits for you (*Required Actions*):
  - the traffic really has changed: *Approve*, with the reason; who and why stays in the baseline's history, the run succeeds;
  - the history is wrong (a missing day, a replay with wrong times): *Reject*, repair it (`repair_history.<feed>`), trigger anew.
- **`archive` is red:** broker or registry can't be reached, or a record can't be read; the last line of the log says which.
  Nothing is lost while the topic's retention lasts: *Clear* the task when the cause is gone.
- **`build_baseline` is red:** most often too little history, or memory (`spark.driver.memory` in `dags/spark_job.py`).
- **`promote_baseline` is red:** somebody promoted or rolled back since the gate looked, so its verdict says nothing about what is
  in force now. *Clear* `check_baseline` with what follows, to have it judged anew.
- A baseline that is in force and wrong: `rollback_baseline.<feed>`.
"""

import datetime as dt

from airflow.sdk import AsyncCallback, CronPartitionTimetable, DeadlineAlert, DeadlineReference, Param

from contracts.feeds import Feed, load_feeds
from dags.alerts import Alert
from dags.feed_dags import archive, build_check_promote, feed_dag, told_on_failure

IN_TIME = dt.timedelta(hours=5)
FULL = Param(
    False,
    type="boolean",
    title="Full",
    description="Compute every kind of day, not only those whose readings have changed. The result is the same.",
)


def promoted_in_time(feed: Feed) -> DeadlineAlert:
    """By six o'clock where the feed lives, for a run that begins at one; other runs have as long."""
    late = f"nightly_baseline.{feed.name}: no baseline was promoted within {IN_TIME}; the one before stays in force."
    return DeadlineAlert(
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=IN_TIME,
        callback=AsyncCallback(Alert, kwargs={"summary": f"{late} The DAG's docs are the runbook."}),
        name="promoted by 06:00",
    )


for feed in load_feeds().values():
    with feed_dag(
        "nightly_baseline",
        feed,
        __doc__,
        ["batch"],
        schedule=CronPartitionTimetable("0 1 * * *", timezone=feed.timezone, key_format="%Y-%m-%d"),
        dagrun_timeout=dt.timedelta(hours=20),
        deadline=promoted_in_time(feed),
        on_failure_callback=told_on_failure("nightly_baseline", feed),
        params={"full": FULL},
    ):
        archive(feed) >> build_check_promote(
            feed,
            "--as-of={{ dag_run.partition_key or (dag_run.run_after | local_date) }}",
            "{{ '--full' if params.full else '' }}",
        )
