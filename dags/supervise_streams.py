"""
# Supervision of the streams

Keeps one scoring stream running per feed (the feeds of the Variable `sundial_feeds`). Each stream is a Spark driver of its own
that outlives its task: restarting Airflow's scheduler, workers or triggerer does not touch it, and the task finds it again.

| what happens | what Airflow does |
|---|---|
| the driver dies | launched again within seconds, the driver's last lines in the task's log |
| the driver hangs: no heartbeat for 15 s, or no record done for 60 s while some wait | killed, launched again |
| it dies a 6th time within 10 minutes | people are told, the task fails with its last lines; then one try each five minutes |
| the task's process, a worker, the scheduler or the triggerer dies | the stream runs on; the next attempt reconnects to it |

## What you can do
- **Restart a stream:** *Clear* its task (named by feed). It stops at a batch boundary and is started again.
- **Stop a stream:** pause this DAG (or the next run starts it anew), then mark its task *failed* or *success*.
- **Add a stream:** add its feed to the Variable `sundial_feeds`, then mark the run *failed*: the next one starts at once with
  the new list.
- **Look:** the task's log shows each change of the stream's state and baseline, and the end of what the driver prints; all of it
  is in `$SUNDIAL_STREAMS/<feed>.<stream>/driver.log`. Lag and rates are on the dashboard and in `/metrics`.

## When it fails
The task's log ends with the driver's last lines. Mend what they name (broker, registry, memory, a table); the next try comes by
itself within five minutes, or at once when you *Clear* the task.

While this DAG is paused, running streams go on, but nobody brings them back.
"""

from dags.feeds_to_run import FEEDS, feeds_to_run
from dags.stream_operator import StreamOperator, supervision

with supervision("supervise_streams", doc_md=__doc__, params={"feeds": FEEDS}, tags=["sundial", "streams"]):
    StreamOperator.partial(task_id="score", stream="score", map_index_template="{{ task.of }}").expand(of=feeds_to_run())
