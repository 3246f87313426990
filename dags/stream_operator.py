"""The operator behind a supervised stream."""

import os
import time
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Literal

from airflow.sdk import DAG, BaseOperator
from airflow.sdk.exceptions import AirflowFailException

from dags.alerts import tell
from dags.lineage import Traced
from dags.links import Dashboard, show
from dags.spark_job import CONNECTION, stream_command
from dags.stream_trigger import StreamTrigger
from supervision.files import StreamFolder
from supervision.policy import Limits


class StreamOperator(Traced, BaseOperator):
    """While this task lives, the stream runs; marking the task failed or successful stops it, clearing the task restarts it.

    The task itself only hands over to a StreamTrigger, so it holds no worker slot, and the driver is a process of its own, which
    outlives the worker, the scheduler and the triggerer. The locks in its run-state folder say whether it runs, not what Airflow
    remembers: any attempt of any run finds the driver that is there, and never starts a second.

    :param of: a declared feed, or an application of declared queries.
    :param stream: `score` of a feed, or the `queries` of an application.
    :param limits: when its driver is killed, launched again, or given up. Then a message is sent, once, and the task fails for
        good with the driver's last lines.
    """

    template_fields = ("of", "stream")
    operator_extra_links = (Dashboard(),)
    ui_color = "#f6c65b"

    def __init__(
        self,
        *,
        of: str,
        stream: Literal["score", "queries"],
        conn_id: str = CONNECTION,
        limits: Limits = Limits(),  # noqa: B008 (it is frozen)
        **task,
    ):
        super().__init__(**task)
        self.of, self.stream, self.conn_id, self.limits = of, stream, conn_id, limits

    @property
    def feed(self) -> str | None:
        """What the dashboard is opened at."""
        return self.of if self.stream == "score" else None

    def execute(self, context):
        stream = self._folder()
        looked_at = stream.look_mark()
        paused = looked_at and time.time() - looked_at / 1e9 > self.limits.pause
        if context["ti"].try_number > 1 or paused:
            stream.clear_given_up()  # clearing its task, or unpausing its DAG later, means: try it now, with the whole budget
        stream.write_supervisor(str(context["ti"].id))
        trigger = StreamTrigger(
            folder=str(stream.path),
            command=stream_command(self.stream, self.of, self.conn_id),
            **asdict(self.limits),
        )
        show(self, context["ti"])
        self.defer(trigger=trigger, method_name=self.given_up.__name__)

    def given_up(self, context, event: dict):
        stream, what = self._folder(), event["error"].splitlines()[0]
        text = f"stream {what} Its task is in DAG {self.dag_id}, run {context['run_id']}; the DAG's docs are its runbook."
        # Once, when the webhook has taken it: otherwise the next run, which gives the stream up again, tries to tell it.
        if not stream.is_told() and tell(text):
            stream.mark_told()
        raise AirflowFailException(event["error"])

    def _folder(self) -> StreamFolder:
        root = os.environ.get("SUNDIAL_STREAMS")
        if not root:
            raise AirflowFailException("SUNDIAL_STREAMS is not set: it names the folder of the streams' run-state")
        return StreamFolder.of(root, self.of, self.stream)


def supervision(dag_id: str, **dag) -> DAG:
    """A DAG of streams: one run that goes on for ever, and the next at once when it has ended."""
    return DAG(
        dag_id=dag_id,
        schedule="@continuous",
        start_date=datetime(2024, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        default_args={
            "owner": "sundial",
            "retries": 10,  # of what happens to the task itself; a stream that was given up is not retried: the next run tries it
            "retry_delay": timedelta(seconds=30),
            "retry_exponential_backoff": True,
            "max_retry_delay": timedelta(minutes=10),
            "execution_timeout": timedelta(minutes=5),  # of each step between two watches; the watch itself has no end
        },
        **dag,
    )
