"""
# Supervision of an application of queries

Keeps one Spark driver running, with all declared queries of the application (`schemas/queries/*.yaml`, field `application`). The
driver outlives its task: restarting Airflow's scheduler, workers or triggerer does not touch it, and the task finds it again.

| what happens | what Airflow does |
|---|---|
| the driver dies, or one of its queries fails | launched again within seconds, the driver's last lines in the task's log |
| the driver hangs: no heartbeat for 15 s, or no record done for 5 minutes while some wait | killed, launched again |
| it dies a 6th time within 10 minutes | people are told, the task fails with its last lines; then one try each five minutes |

## What you can do
- **Start it:** unpause this DAG. `sundial queries start APPLICATION` does the same.
- **Restart it:** *Clear* the task. Its queries stop between two batches and go on from their checkpoints. So it takes up a
  declaration that was changed.
- **Stop it:** pause this DAG, then mark its task *success*. `sundial queries stop APPLICATION` does the same.
- **Look:** `heartbeat.json` in `$SUNDIAL_STREAMS/<application>.queries/` tells lag, watermark, rows of state and late rows of
  each query; what the driver prints is in `driver.log` beside it.

## When it fails
The task's log ends with the driver's last lines, which name the query and what is wrong. Mend it; the next try comes by itself
within five minutes, or at once when you *Clear* the task or type `sundial queries start APPLICATION`.
"""

from contracts.queries import load_queries
from dags.stream_operator import StreamOperator, supervision

STALL_AFTER = 300.0  # seconds; a batch may rightly be long where much waits

for application in sorted({query.application for query in load_queries().values()}):
    with supervision(f"supervise_queries.{application}", doc_md=__doc__, tags=["sundial", "streams", "queries", application]):
        StreamOperator(task_id="queries", of=application, stream="queries", stall_after=STALL_AFTER)
