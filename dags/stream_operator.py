"""The operator behind a supervised stream."""

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from dags.spark_job import CONNECTION, stream_command
from dags.stream_state import StreamState
from dags.stream_trigger import StreamTrigger


class StreamOperator(BaseOperator):
    """While this task lives, the stream runs; marking the task failed or successful stops it, clearing the task restarts it.

    The task itself only hands over to a StreamTrigger, so it holds no worker slot, and the driver is a process of its own, which
    outlives the worker, the scheduler and the triggerer. Whether it runs is told by the locks in its run-state folder, not by
    what Airflow remembers: any attempt of any run finds the driver that is there, and never starts a second.

    :param feed: a declared feed.
    :param stream: the stream's job, jobs/<stream>.py.
    :param hang_after: seconds without a heartbeat after which a living driver is killed and launched again.
    :param start_within: seconds in which a new driver must give its first heartbeat.
    :param restarts: how often within `window` a driver is brought back at once, each time after a longer pause; then the task
        fails with the driver's last words, and Airflow's retries go on.
    """

    template_fields = ("feed", "stream")
    ui_color = "#f6c65b"

    def __init__(
        self,
        *,
        feed: str,
        stream: str,
        conn_id: str = CONNECTION,
        hang_after: float = 15,
        start_within: float = 120,
        restarts: int = 5,
        window: timedelta = timedelta(minutes=10),
        **task,
    ):
        super().__init__(**task)
        self.feed, self.stream, self.conn_id = feed, stream, conn_id
        self.hang_after, self.start_within = hang_after, start_within
        self.restarts, self.window = restarts, window

    def execute(self, context):
        root = os.environ.get("SUNDIAL_STREAMS")
        if not root:
            raise AirflowFailException("SUNDIAL_STREAMS is not set: it names the folder of the streams' run-state")
        stream = StreamState(Path(root) / f"{self.feed}.{self.stream}")
        stream.supervise(str(context["ti"].id))
        trigger = StreamTrigger(
            folder=str(stream.folder),
            command=stream_command(self.stream, "--feed", self.feed, conn_id=self.conn_id),
            hang_after=self.hang_after,
            start_within=self.start_within,
            restarts=self.restarts,
            window=self.window.total_seconds(),
        )
        self.defer(trigger=trigger, method_name=self.given_up.__name__)

    def given_up(self, context, event: dict):
        raise AirflowException(event["error"])
