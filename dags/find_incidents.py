"""
# Find incidents

Walks the detector through each date of `history/<feed>` whose readings have changed, and through the dates after it. It runs
whenever readings were archived or repaired, or a person has judged them (`judge_incident.<feed>`); the date of today has to be
over first. Readings that a person has excluded are left out.

| table | what it has |
|---|---|
| `incidents/<feed>` | the events of all incidents by date: opened, updated, closed |
| `detector/<feed>` | what the detector knew of each service at the beginning of each date |

Late readings and corrections change both tables as if they had come in time. The topic `<feed>.incidents` is written by the
query `incidents` (`sundial queries start incidents`), which does not wait for the night.

## Start

Unpause this DAG in Airflow. Its first run walks through up to 56 dates. That takes about ten seconds for each date of a feed
with a reading every ten seconds.

## When it fails

- **`find_incidents` is red:** the last line of its log gives the reason. Dates that were walked through stay. *Clear* the
  task when the cause is fixed: it goes on where it was.
"""

import datetime as dt

from contracts.feeds import load_feeds
from dags.feed_dags import MINUTE, RUN_ID, asset, feed_dag
from dags.spark_job import DEFAULT_POOL, spark_job

for feed in load_feeds().values():
    with feed_dag(
        "find_incidents",
        feed,
        __doc__,
        ["batch"],
        schedule=asset("history", feed) | asset("exclusions", feed),
        dagrun_timeout=dt.timedelta(hours=6),
    ):
        spark_job(
            "find_incidents",
            feed.name,
            RUN_ID,
            inlets=[asset("history", feed), asset("exclusions", feed)],
            outlets=[asset("incidents", feed), asset("detector", feed)],
            pool=DEFAULT_POOL,
            execution_timeout=300 * MINUTE,
        )
