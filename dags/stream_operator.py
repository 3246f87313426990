"""The operator that keeps a stream running: launches its driver or finds it running, brings it back when it dies or hangs."""

import os
import time
from datetime import timedelta
from pathlib import Path

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from dags.spark_job import CONNECTION, stream_command
from dags.stream_state import AlreadyRunning, StreamState
from dags.stream_trigger import StreamTrigger


class StreamOperator(BaseOperator):
    """While this task lives, the stream runs. The stream itself outlives the task's process, the worker and the scheduler.

    The task holds no worker slot: it defers to a StreamTrigger and resumes only to act. What is running is told by the locks in
    the run-state folder, not by what Airflow remembers, so any attempt of any run finds the driver that is there.

    :param feed: a declared feed.
    :param stream: the stream's job, jobs/<stream>.py.
    :param hang_after: seconds without a heartbeat after which a living driver is killed and started again.
    :param start_within: seconds in which a new driver must give its first heartbeat.
    :param restarts: how often within `window` a driver is brought back at once, each time after a longer pause; then the task
        fails with the driver's last error, and Airflow's retries go on.
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
        self._killed = False

    def execute(self, context):
        if self.state.gone():
            self._launch()
        else:
            self.log.info("%s runs already (pid %s); watching it", self.name, self.state.driver().get("pid", "not known yet"))
        self._watch(restarts=[])

    def resume(self, context, event: dict, restarts: list[float]):
        """The trigger saw the driver gone or hung."""
        if event["why"] == "hung":
            self.log.error("%s: no heartbeat for %s s, killing its driver", self.name, event["silent"])
        else:
            self.log.error("%s: its driver is gone, last state %s", self.name, self.state.heartbeat().get("state", "none"))
        last_lines = self.state.last_lines()
        self.log.info("the end of %s:\n%s", self.state.log_file, last_lines)

        now = time.time()
        restarts = [at for at in restarts if at > now - self.window.total_seconds()]
        if len(restarts) >= self.restarts:
            self.state.kill()
            raise AirflowException(
                f"{self.name} died {len(restarts) + 1} times within {self.window}; the last time it said:\n{last_lines}"
            )
        self._pause(2 ** (len(restarts) - 1) if restarts else 0)
        self._launch()
        self._watch(restarts=[*restarts, now])

    def on_kill(self):
        # Called in a signal handler, by a person's act and by a worker's shutdown alike. Whether the stream is to stop is decided
        # by the trigger, which can tell them apart; here it only matters not to launch a driver any more.
        self._killed = True

    @property
    def name(self) -> str:
        return f"{self.feed}.{self.stream}"

    @property
    def state(self) -> StreamState:
        root = os.environ.get("SUNDIAL_STREAMS")
        if not root:
            raise AirflowFailException("SUNDIAL_STREAMS is not set: it names the folder of the streams' run-state")
        return StreamState(Path(root) / self.name)

    def _launch(self) -> None:
        if self._killed:
            raise AirflowException(f"{self.name}: the task was killed, nothing is launched")
        command, env = stream_command(self.stream, "--feed", self.feed, conn_id=self.conn_id)
        try:
            self.state.kill()
            self.log.info("launched %s, pid %d, log %s", self.name, self.state.launch(command, env), self.state.log_file)
        except AlreadyRunning as running:
            self.log.info("%s: %s; watching it", self.name, running)
        except FileNotFoundError as missing:
            raise AirflowFailException(f"{missing}: spark-submit must be on the PATH of Airflow's workers") from missing

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._killed and time.monotonic() < end:
            time.sleep(0.2)

    def _watch(self, restarts: list[float]) -> None:
        trigger = StreamTrigger(str(self.state.folder), self.hang_after, self.start_within)
        self.defer(trigger=trigger, method_name=self.resume.__name__, kwargs={"restarts": restarts})
