"""
# Replay dead letters

Sends dead letters back to their topic when the cause is fixed: the producer's schema is registered, or the contract or
a query's `valid` is corrected. A dead letter is a record that could not be read from a topic of a feed or a query; it
is stored with its bytes and the reason in `<topic>.dead-letter`. Streams score the replayed records, the next archive
run stores them under their own date, as late readings, and queries count them. `sundial dead-letters replay TOPIC` does
the same.

## Run it by hand

1. *Trigger* it with the **Topic**: the log of `replay_dead_letters` lists the waiting dead letters by their current
   error. Nothing is changed.
2. *Trigger* it with **Send**: every dead letter that can be read now is sent. None is sent twice, and those that still
   cannot be read stay.

A dead letter stays if a newer record of the same reading, or of the same key of a table, has come since. So a replay does
not override a correction.

## When it fails

- **`replay_dead_letters` is red:** the broker or the registry cannot be reached; the last line of the log says which.
  *Clear* the task when the cause is fixed.
"""

import datetime as dt

from airflow.sdk import Param

from contracts.declared_topics import topics_read
from dags.feed_dags import MINUTE, RUN_ID, USER, batch_dag
from dags.spark_job import spark_job

PARAMS = {
    "topic": Param(type="string", enum=sorted(topics_read()), title="Topic", description="A topic that a feed or a query reads."),
    "send": Param(False, type="boolean", title="Send", description="Send dead letters that can be read now. Off: list them."),
    "since": Param(
        None,
        type=["string", "null"],
        format="date",
        title="Since",
        description="Only records dead-lettered on this date (in the feed's zone, else UTC) or later. Empty: all.",
    ),
    "reason": Param(
        "",
        type="string",
        maxLength=200,
        title="Reason",
        description="Only dead letters whose reason contains this text, e.g. `unknown schema id 7`. Empty: all.",
    ),
    "user": USER,
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
