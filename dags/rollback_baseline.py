"""
# Roll back the baseline

Puts an older version of `baseline/<feed>` in force again, in one commit that names it. Running streams load it at
their next handover, within about a minute. Nothing is lost: the versions in between stay, and you can roll back a rollback.

## Run it by hand

*Trigger* it with the version and the reason. The dashboard and `GET /api/feeds/<feed>/baseline` list the versions, with
who promoted what and when. The reason is stored in the baseline's history.

The next nightly run promotes a new candidate if the gate accepts it. To prevent that, pause `nightly_baseline.<feed>`.
A run that was already in progress does not override the rollback.

## When it fails

- **`rollback_baseline` is red:** the last line of its log lists the versions that can be put in force; trigger the DAG
  with one of them. The baseline in force is unchanged.
"""

import datetime as dt

from airflow.sdk import Param

from contracts.feeds import load_feeds
from dags.feed_dags import BY, MINUTE, RUN_ID, USER, asset, feed_dag
from dags.spark_job import DEFAULT_POOL, spark_job

PARAMS = {
    "version": Param(type="integer", minimum=0, title="Version", description="Version of the baseline to put in force again."),
    "reason": Param(
        type="string", minLength=1, maxLength=500, title="Reason", description="Why. Stored in the baseline's history."
    ),
    "user": USER,
}

for feed in load_feeds().values():
    with feed_dag(
        "rollback_baseline",
        feed,
        __doc__,
        ["batch", "repair"],
        schedule=None,
        dagrun_timeout=dt.timedelta(hours=1),
        params=PARAMS,
    ):
        spark_job(
            "rollback_baseline",
            feed.name,
            RUN_ID,
            "--to-version={{ params.version }}",
            BY,
            "--reason={{ params.reason }}",
            outlets=[asset("baseline", feed)],
            pool=DEFAULT_POOL,  # it starts no Spark session, and is urgent
            retries=0,  # a person waits for it, and can trigger it again
            execution_timeout=15 * MINUTE,
        )
