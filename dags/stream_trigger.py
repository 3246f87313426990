"""Watches a running stream for its deferred task, from Airflow's triggerer."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from airflow.triggers.base import BaseTrigger, TriggerEvent
from asgiref.sync import sync_to_async

from dags.stream_state import StreamState

LOOK_EVERY = 1.0


class StreamTrigger(BaseTrigger):
    """Fires once, when the driver is gone, or hung: alive and without a new heartbeat for `hang_after` seconds.

    Silence is measured by this process's monotonic clock, so neither a set clock nor a machine that slept looks like a hang.
    """

    def __init__(self, folder: str, hang_after: float, start_within: float):
        super().__init__()
        self.folder, self.hang_after, self.start_within = folder, hang_after, start_within
        self.stream = StreamState(Path(folder))
        self._mark, self._since, self._shown = -1, 0.0, None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        arguments = {"folder": self.folder, "hang_after": self.hang_after, "start_within": self.start_within}
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        while (found := await asyncio.to_thread(self.look)) is None:
            await asyncio.sleep(LOOK_EVERY)
        yield TriggerEvent(found)

    def look(self) -> dict | None:
        """What is wrong with the stream, or None."""
        if self.stream.gone():
            return {"why": "gone"}
        mark, now = self.stream.heartbeat_mark(), time.monotonic()
        if mark != self._mark:
            self._mark, self._since = mark, now
            self._show()
            return None
        silent = now - self._since
        if silent > (self.hang_after if mark else self.start_within):
            return {"why": "hung", "silent": round(silent)}
        return None

    def _show(self) -> None:
        """A line in the task's log whenever the stream's state or its baseline changes."""
        beat = self.stream.heartbeat()
        shown = {name: beat.get(name) for name in ("state", "baseline_version", "last_error")}
        if self._mark and shown != self._shown:
            self._shown = shown
            self.log.info("%s: %s", self.stream.folder.name, ", ".join(f"{name} {value}" for name, value in shown.items()))

    async def on_kill(self) -> None:
        """Somebody marked the task failed or successful, or cleared it: the stream stops at a batch boundary.

        Airflow calls this as well when it moves the trigger to another triggerer, because this one was late; then the task is
        still deferred and the stream none of our business.
        """
        if await sync_to_async(self._task_state)() != "deferred" and self.stream.request_stop():
            await self.log.ainfo("asked the stream %s to stop", self.stream.folder.name)

    def _task_state(self) -> str | None:
        task = self.task_instance
        states = RuntimeTaskInstance.get_task_states(
            dag_id=task.dag_id, task_ids=[task.task_id], run_ids=[task.run_id], map_index=task.map_index
        )
        return next(iter(states.get(task.run_id, {}).values()), None)
