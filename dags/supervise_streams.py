"""
# Supervise the stream of a feed

Keeps the feed's scoring stream running: a Spark driver that outlives its task. When Airflow's scheduler, workers or
triggerer restart, the driver keeps running and the task finds it again. Each feed has such a DAG of its own, so nothing
that happens to one stream touches another.

| event | what Airflow does |
|---|---|
| the driver dies | launches it again within seconds; the task's log has the driver's last lines |
| the driver hangs: no heartbeat for 15 s, or no record processed for 60 s while some wait | kills it and launches it again |
| six drivers die, and none ran well for five minutes | calls the webhook, fails the task; then one try every five minutes |
| the task's process, a worker, the scheduler or the triggerer dies | the stream keeps running; the next attempt finds it |

## Start, stop, restart, observe

- **Start:** unpause this DAG. `sundial streams start FEED` does the same, and waits until the stream runs.
- **Stop:** pause this DAG (otherwise the next run starts the stream again), then mark its task *success*.
  `sundial streams stop FEED` does the same.
- **Restart:** *Clear* the task. The stream stops at a batch boundary and is started again.
- **Observe:** the task's log shows each change of the stream's state and baseline, and the end of the driver's output.
  `$SUNDIAL_STREAMS/<feed>.<stream>/driver.log` has all of the output. The dashboard and `/metrics` show lag and rates.

## When it fails

The task's log ends with the driver's last lines. Fix the cause that they name (broker, registry, memory, a table). The
next try starts automatically within five minutes, or at once when you *Clear* the task or run
`sundial streams start FEED`.

While this DAG is paused, a running stream continues, but is not restarted if it dies.
"""

from contracts.feeds import load_feeds
from dags.lineage import asset, topic
from dags.stream_operator import StreamOperator, supervision

for name, feed in sorted(load_feeds().items()):
    with supervision(f"supervise_streams.{name}", doc_md=__doc__, tags=["sundial", "streams", "supervise_streams", name]):
        StreamOperator(
            task_id="score",
            of=name,
            stream="score",
            inlets=[topic(feed.topic), asset("baseline", feed)],
            outlets=[topic(each) for each in (feed.scored_topic, feed.anomalies_topic, feed.dead_letter_topic)],
        )
