"""
# Supervise an application of queries

Keeps one Spark driver running, with all declared queries of the application (`schemas/queries/*.yaml`, field
`application`). The driver outlives its task: when Airflow's scheduler, workers or triggerer restart, the driver keeps
running and the task finds it again.

| event | what Airflow does |
|---|---|
| the driver dies, or one of its queries fails | launches it again within seconds; the task's log has the driver's last lines |
| the driver hangs: no heartbeat for 15 s, or no record processed for 5 minutes while some wait | kills it and launches it again |
| six drivers die, and none ran well for five minutes | calls the webhook, fails the task; then one try every five minutes |

## Start, stop, restart, observe

- **Start:** unpause this DAG. `sundial queries start APPLICATION` does the same.
- **Restart:** *Clear* the task. The queries stop between two batches and continue from their checkpoints. Use this to
  apply a changed declaration.
- **Stop:** pause this DAG, then mark its task *success*. `sundial queries stop APPLICATION` does the same.
- **Observe:** `heartbeat.json` in `$SUNDIAL_STREAMS/<application>.queries/` has the lag, watermark, state rows and late
  rows of each query. `driver.log` in the same folder has the driver's output.

## When it fails

The task's log ends with the driver's last lines, which name the query and the error. Fix it. The next try starts
automatically within five minutes, or at once when you *Clear* the task or run `sundial queries start APPLICATION`.
"""

from contracts.queries import load_queries
from dags.lineage import topic
from dags.stream_operator import StreamOperator, supervision
from supervision.policy import Limits

LIMITS = Limits(stall_after=300)  # a batch may rightly be long where much waits

QUERIES = load_queries().values()

for application in sorted({query.application for query in QUERIES}):
    queries = [query for query in QUERIES if query.application == application]
    read = sorted({each.topic for query in queries for each in query.inputs.values()})
    written = sorted({each.topic for query in queries for each in query.outputs})
    with supervision(f"supervise_queries.{application}", doc_md=__doc__, tags=["sundial", "streams", "queries", application]):
        StreamOperator(
            task_id="queries",
            of=application,
            stream="queries",
            limits=LIMITS,
            inlets=[topic(each) for each in read],
            outlets=[topic(each) for each in written],
        )
