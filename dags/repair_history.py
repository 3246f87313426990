"""
# Repair history

Rebuilds dates of `history/<feed>` from the records that the topic still has, then builds, checks and promotes the
baseline as the nightly run does. Only day types whose readings have changed are computed, and the gate decides. Rows
whose records are no longer in the topic stay as they are.

The DAG starts automatically when `archive_history.<feed>` finds late readings (asset `late.<feed>`), for the dates of
these readings.

## Run it by hand

*Trigger* it with the first and the last date, and a reason, which is stored in the table's history. Do so

- after rows were lost or damaged,
- when a corrected contract can read records that could not be read before.

## When it fails

- **`repair_history` is red:** the last line of its log gives the reason; the table is unchanged. *Clear* the task to
  try again.
- **`check_baseline` is red:** the history is repaired, but the gate refused the new baseline, and `approve` waits for
  your decision. See the runbook of `nightly_baseline.<feed>`.
"""

import datetime as dt

from airflow.sdk import Param
from airflow.sdk.exceptions import AirflowFailException

from contracts.feeds import load_feeds
from dags.feed_dags import MINUTE, RUN_ID, asset, build_check_promote, feed_dag, told_on_failure
from dags.lineage import topic
from dags.spark_job import spark_job


def date(title: str) -> Param:
    description = f"{title} local date to repair (YYYY-MM-DD). Left empty only by runs that late readings start."
    return Param(None, type=["string", "null"], format="date", title=title, description=description)


REASON = Param("", type="string", maxLength=500, title="Reason", description="Why. Stored in the table's history.")


def span(end: str) -> str:
    """The date that the form names, or else that of the late readings which started the run."""
    pick = "min" if end == "from" else "max"
    return f"--{end}={{{{ params['{end}'] or (triggering_asset_events | late_ends('{end}') | {pick}) }}}}"


def late_ends(events, end: str) -> list[str]:
    """`from` or `to` of each event of late readings that started the run. Fails for good where neither form nor event says."""
    found = [event.extra[end] for of_asset in events.values() for event in of_asset if end in event.extra]
    if not found:
        raise AirflowFailException("no dates to repair: trigger with Params `from` and `to`")
    return found


for feed in load_feeds().values():
    with feed_dag(
        "repair_history",
        feed,
        __doc__,
        ["batch", "repair"],
        schedule=[asset("late", feed)],
        dagrun_timeout=dt.timedelta(hours=20),
        on_failure_callback=told_on_failure("repair_history", feed),
        params={"from": date("First"), "to": date("Last"), "reason": REASON},
    ) as dag:
        dag.user_defined_filters["late_ends"] = late_ends
        repair = spark_job(
            "repair_history",
            feed.name,
            RUN_ID,
            span("from"),
            span("to"),
            "--reason={{ params.reason or 'late readings' }}",
            inlets=[topic(feed.topic)],
            outlets=[asset("history", feed)],
            execution_timeout=120 * MINUTE,
        )
        repair >> build_check_promote(feed, "--as-of={{ dag_run.run_after | local_date }}")
