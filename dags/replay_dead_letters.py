"""
# Replay dead letters

What could not be read from a topic of a feed or a query was kept, with its bytes and the reason, in `<topic>.dead-letter`. When
the cause is mended (the producer's schema is registered, the contract or a query's `valid` corrected), this sends what can be
read now back to its topic: streams score it, the next archive puts it where it belongs, as late readings; queries count it.
`sundial dead-letters replay TOPIC` does the same.

## Run it by hand
1. *Trigger* with the **Topic**: the log of `replay_dead_letters` lists what waits, by what is wrong with it still. Nothing is
   changed.
2. *Trigger* with **Send**. No letter is sent twice; what still can't be read stays.

A reading that was corrected after it was dead-lettered would be overridden by its replay, as what comes later wins: narrow the
replay down by *Since* and *Reason*, or correct the reading again after it.

## When it fails
- **`replay_dead_letters` is red:** broker or registry can't be reached; the last line of the log says which. *Clear* it when the
  cause is gone.
"""

import datetime as dt

from airflow.sdk import Param

from contracts.topics import topics_read
from dags.feed_dags import MINUTE, RUN_ID, batch_dag
from dags.spark_job import spark_job

PARAMS = {
    "topic": Param(type="string", enum=sorted(topics_read()), title="Topic", description="That a feed or a query reads."),
    "send": Param(False, type="boolean", title="Send", description="Send what can be read now. Off: only list what waits."),
    "since": Param(
        None,
        type=["string", "null"],
        format="date",
        title="Since",
        description="Only what was dead-lettered on that date (of the feed's zone, else UTC) or later. Empty: all there is.",
    ),
    "reason": Param(
        "",
        type="string",
        maxLength=200,
        title="Reason",
        description="Only letters whose reason contains this text, e.g. `unknown schema id 7`. Empty: any.",
    ),
}

with batch_dag(
    "replay_dead_letters",
    dt.UTC,
    __doc__,
    ["repair", "dead letters"],
    schedule=None,
    dagrun_timeout=dt.timedelta(hours=3),
    params=PARAMS,
):
    spark_job(
        "replay_dead_letters",
        None,
        "--topic={{ params.topic }}",
        RUN_ID,
        "{{ '--since=' ~ params.since if params.since else '' }}",
        "{{ '--reason=' ~ params.reason if params.reason else '' }}",
        "{{ '--send' if params.send else '' }}",
        execution_timeout=120 * MINUTE,
    )
