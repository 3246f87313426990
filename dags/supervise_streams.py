"""
# Supervise the streams

Keeps one scoring stream running per feed (the feeds in the Variable `sundial_feeds`). Each stream is a Spark driver of
its own that outlives its task: when Airflow's scheduler, workers or triggerer restart, the driver keeps running and the
task finds it again.

| event | what Airflow does |
|---|---|
| the driver dies | launches it again within seconds; the task's log has the driver's last lines |
| the driver hangs: no heartbeat for 15 s, or no record processed for 60 s while some wait | kills it and launches it again |
| the driver dies a 6th time within 10 minutes | calls the webhook and fails the task; after that one try every five minutes |
| the task's process, a worker, the scheduler or the triggerer dies | the stream keeps running; the next attempt finds it |

## Restart, stop, add, observe

- **Restart a stream:** *Clear* its task (named by feed). It stops at a batch boundary and is started again.
- **Stop a stream:** pause this DAG (otherwise the next run starts the stream again), then mark its task *failed* or
  *success*.
- **Add a stream:** add its feed to the Variable `sundial_feeds`, then mark the run *failed*: the next run starts at
  once with the new list.
- **Observe:** the task's log shows each change of the stream's state and baseline, and the end of the driver's output.
  `$SUNDIAL_STREAMS/<feed>.<stream>/driver.log` has all of the output. The dashboard and `/metrics` show lag and rates.

## When it fails

The task's log ends with the driver's last lines. Fix the cause that they name (broker, registry, memory, a table). The
next try starts automatically within five minutes, or at once when you *Clear* the task.

While this DAG is paused, running streams continue, but a stream that dies is not restarted.
"""

from dags.feeds_to_run import FEEDS, feeds_to_run
from dags.stream_operator import StreamOperator, supervision

with supervision("supervise_streams", doc_md=__doc__, params={"feeds": FEEDS}, tags=["sundial", "streams"]):
    StreamOperator.partial(task_id="score", stream="score", map_index_template="{{ task.of }}").expand(of=feeds_to_run())
