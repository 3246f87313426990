"""Keeps a stream's driver running, from Airflow's triggerer, for a task that is deferred meanwhile.

The driver is brought back here and not by resuming the task: that takes a second instead of five, needs neither scheduler nor
worker, and keeps clear of Airflow failing a task that resumes before its last step's end has been taken note of.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from airflow.triggers.base import BaseTrigger, TriggerEvent
from asgiref.sync import sync_to_async

from dags.spark_job import stream_environment
from dags.stream_state import AlreadyRunning, StreamState

LOOK_EVERY = 1.0


class StreamTrigger(BaseTrigger):
    """Launches the driver where there is none, and again when it is gone or hung: alive, but silent for `hang_after` seconds.

    Fires once, with the driver's last words, when it died more than `restarts` times within `window` seconds.
    Silence is measured by this process's monotonic clock, so neither a set clock nor a machine that slept looks like a hang.
    """

    def __init__(self, folder: str, command: list[str], hang_after: float, start_within: float, restarts: int, window: float):
        super().__init__()
        self.folder, self.command = folder, command
        self.hang_after, self.start_within, self.restarts, self.window = hang_after, start_within, restarts, window
        self.stream = StreamState(Path(folder))
        self._deaths: list[float] = []
        self._judged: dict | None = None
        self._mark, self._since, self._shown = None, 0.0, None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("folder", "command", "hang_after", "start_within", "restarts", "window")
        return f"{type(self).__module__}.{type(self).__qualname__}", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        try:
            if await asyncio.to_thread(self.stream.gone):
                await self._launch()
            else:
                self.log.info("%s runs already, pid %s; watching it", self.stream.name, self.stream.driver().get("pid"))
            while True:
                await asyncio.sleep(LOOK_EVERY)
                if illness := await asyncio.to_thread(self._look):
                    await self._bring_back(illness)
        except (GivenUp, OSError) as reason:
            yield TriggerEvent({"error": f"{self.stream.name}: {reason}"})

    def _look(self) -> str | None:
        """What is wrong with the driver, if anything."""
        self._judged = self.stream.launched()
        if self.stream.gone():
            return f"its driver is gone, last state {self.stream.heartbeat().get('state', 'none')}"
        mark, now = self.stream.heartbeat_mark(), time.monotonic()
        if mark != self._mark:
            self._mark, self._since = mark, now
            self._show()
        silent = now - self._since
        return f"no heartbeat for {silent:.0f} s" if silent > (self.hang_after if mark else self.start_within) else None

    def _show(self) -> None:
        """A line in the task's log whenever the stream's state or its baseline changes."""
        beat = self.stream.heartbeat()
        shown = {name: beat.get(name) for name in ("state", "baseline_version", "last_error")}
        if self._mark and shown != self._shown:
            self._shown = shown
            self.log.info("%s: %s", self.stream.name, ", ".join(f"{name} {value}" for name, value in shown.items()))

    async def _bring_back(self, illness: str) -> None:
        last_lines = self.stream.last_lines()
        self.log.error("%s: %s. The end of %s:\n%s", self.stream.name, illness, self.stream.log_file, last_lines)
        now = time.monotonic()
        self._deaths = [*(death for death in self._deaths if death > now - self.window), now]
        await asyncio.to_thread(self.stream.kill, self._judged)
        if len(self._deaths) > self.restarts:
            raise GivenUp(f"{len(self._deaths)} deaths within {self.window:.0f} s; the last time, {illness}:\n{last_lines}")
        await asyncio.sleep(2 ** (len(self._deaths) - 2) if len(self._deaths) > 1 else 0)
        await self._launch()

    async def _launch(self) -> None:
        judged = self.stream.launched()
        if await asyncio.to_thread(self.stream.gone):
            await asyncio.to_thread(self.stream.kill, judged)  # the half that may be left of it
        try:
            # Not in a thread: a launch is a matter of milliseconds, and none may happen after this trigger was cancelled.
            pid = self.stream.launch(self.command, stream_environment())
            self.log.info("launched %s, pid %d: %s", self.stream.name, pid, " ".join(self.command))
        except AlreadyRunning as running:
            self.log.info("%s: %s; watching it", self.stream.name, running)
        self._mark = None

    async def on_kill(self) -> None:
        """Somebody marked the task failed or successful, or cleared it: the stream stops at a batch boundary.

        Airflow calls this as well when it moves the trigger to another triggerer, because this one was late. Then the same
        attempt is still deferred, and the stream must not notice. A cleared task may be deferred again too, as another attempt.
        """
        moved = await sync_to_async(self._task_state)() == "deferred" and self.stream.supervisor() == str(self.task_instance.id)
        if not moved and self.stream.request_stop():
            self.log.info("asked %s to stop", self.stream.name)

    def _task_state(self) -> str | None:
        task = self.task_instance
        states = RuntimeTaskInstance.get_task_states(
            dag_id=task.dag_id, task_ids=[task.task_id], run_ids=[task.run_id], map_index=task.map_index
        )
        return next(iter(states.get(task.run_id, {}).values()), None)


class GivenUp(RuntimeError):
    """The driver dies too often to be brought back again."""
