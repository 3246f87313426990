"""
# Nightly baseline

Builds a new baseline every night at 01:00 in the feed's time zone. Its Spark jobs run one after the other, and each is
safe to repeat:

| task | what it does | writes |
|---|---|---|
| `archive` | reads the new records of the feed's topic; late readings go to their own date | `history/<feed>` |
| `build_baseline` | computes the day types whose readings, or what counts of them, changed | `baseline_candidate/<feed>` |
| `check_baseline` | **the gate**: checks the candidate against the feed's expectations | `gate_results`, Data Docs |
| `approve` | only if the gate refused: waits up to twelve hours for a person's decision | |
| `promote_baseline` | puts the candidate in force in one commit; running streams take it up within a minute | `baseline/<feed>` |

## Run it by hand

*Trigger* it, or send `POST /api/v2/dags/nightly_baseline.<feed>/dagRuns` with
`{"logical_date": null, "partition_key": "2024-05-01"}`.

- The *partition key* of a run is the date of its night in the feed's time zone. The baseline is built as of that date,
  as it would have been built then. Leave it empty for today.
- The Param `full` recomputes all day types, changed or not.
- A baseline with an earlier date than the one in force stays a candidate and cannot be approved.

## Past nights

Use *Trigger > Backfill*, or `airflow backfill create --dag-id nightly_baseline.<feed> --from-date ... --to-date ...`.
Each partition builds the candidate of that night, from the readings of earlier dates as history has them now. It is
promoted only if no newer baseline is in force. Otherwise it stays in `baseline_candidate/<feed>`, and
`promote_baseline` is skipped.

- `--from-date` and `--to-date` are instants: to end with the night of the 3rd, use `--to-date 2024-05-03T01:00`.
- Unpause the DAG first, or the runs wait.
- `--max-active-runs 1` keeps the runs in order.

## Alerts

The webhook `SUNDIAL_ALERT_WEBHOOK` is called when a candidate is refused, when a run fails, and when a run has promoted
nothing five hours after its start (06:00 for the scheduled run).

## When it fails

- **`check_baseline` is red:** the gate refused the candidate. The baseline in force is unchanged and the streams
  continue with it. The task's log ends with each failed expectation and sample rows; the Data Docs show the rest. The
  task is not retried, because the same candidate would be refused again. `approve` now waits for your decision
  (*Required Actions*):
    - The traffic has really changed: *Approve*, with the reason. The run succeeds, and the baseline's history records
      who approved and why.
    - The history is wrong (a missing day, a replay with wrong times): *Reject*, repair it with `repair_history.<feed>`,
      and trigger a new run.
- **`archive` is red:** the broker or the registry cannot be reached, or a record cannot be read; the last line of the
  log says which. Nothing is lost while the topic's retention lasts. *Clear* the task when the cause is fixed.
- **`build_baseline` is red:** usually there is too little history or too little memory (`SUNDIAL_BATCH_MEMORY`,
  `2g` by default).
- **`promote_baseline` is red:** another baseline was promoted or rolled back after the gate's check, so the check no
  longer applies. *Clear* `check_baseline` and its downstream tasks to check the candidate again.
- **A wrong baseline is in force:** run `rollback_baseline.<feed>`.
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
    description="Compute all day types, not only those whose readings have changed. The result is the same.",
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
