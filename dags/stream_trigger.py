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
WELL_AFTER = 60.0  # seconds of running after which a driver's troubles are over
RELAY_EVERY, RELAY_BYTES = 10.0, 4096  # of the driver's log into the task's; the rest stays in driver.log


class StreamTrigger(BaseTrigger):
    """Launches the driver where there is none, and again when it is gone or hung: alive, but silent for `hang_after` seconds, or
    beating while nothing is done of what waits for `stall_after` seconds, or not running yet after `start_within`.

    Fires once, with the driver's last words, when it died more than `restarts` times within `window` seconds. A stream that was
    given up like that gets one more try, after `pause` seconds, from each trigger that comes after.
    Silence is measured by this process's monotonic clock, so neither a set clock nor a machine that slept looks like a hang.
    """

    SETTINGS = ("folder", "command", "hang_after", "stall_after", "start_within", "restarts", "window", "pause")

    def __init__(
        self,
        folder: str,
        command: list[str],
        hang_after: float,
        stall_after: float,
        start_within: float,
        restarts: int,
        window: float,
        pause: float,
    ):
        super().__init__()
        self.folder, self.command = folder, command
        self.hang_after, self.stall_after, self.start_within = hang_after, stall_after, start_within
        self.restarts, self.window, self.pause = restarts, window, pause
        self.stream = StreamState(Path(folder))
        self._deaths: list[float] = []
        self._judged: dict | None = None
        self._watch_anew()

    def _watch_anew(self) -> None:
        """Nothing is known of the driver: which heartbeat was its last, and since when; its state, and since when."""
        self._mark, self._beat_at = None, time.monotonic()
        self._state, self._state_at = None, time.monotonic()
        self._shown, self._well = None, False
        self._relayed, self._relayed_at = self.stream.launched().get("log_offset", 0), 0.0

    def serialize(self) -> tuple[str, dict[str, Any]]:
        path = f"{type(self).__module__}.{type(self).__qualname__}"
        return path, {name: getattr(self, name) for name in self.SETTINGS}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        try:
            if await asyncio.to_thread(self.stream.gone):
                if self.stream.given_up():
                    self.log.warning("%s was given up; it is tried once more in %.0f s", self.stream.name, self.pause)
                    await self._pause()
                await self._launch()
            else:
                self.log.info("%s runs already, pid %s; watching it", self.stream.name, self.stream.driver().get("pid"))
            while True:
                await asyncio.sleep(LOOK_EVERY)
                if illness := await asyncio.to_thread(self._look):
                    await self._bring_back(illness)
                elif self.stream.ended_as_asked():
                    self.log.info(
                        "%s has stopped, as the attempt before this one was told to; it is launched anew", self.stream.name
                    )
                    await self._launch()
        except ConnectionError:
            raise  # this process has lost the triggerer that it logs to, and dies: the next one finds the stream as it is
        except (GivenUp, OSError) as reason:
            first = self.stream.give_up()
            yield TriggerEvent({"error": f"{self.stream.name}: {reason}", "first": first})

    async def _pause(self) -> None:
        """Until the next try is due, or somebody has it tried at once."""
        end = time.monotonic() + self.pause
        while self.stream.given_up() and (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(left, LOOK_EVERY))

    def _look(self) -> str | None:
        """What is wrong with the driver, if anything."""
        self._judged = self.stream.launched()
        self._relay()
        if self.stream.gone():
            if self.stream.ended_as_asked():
                return None
            return f"its driver is gone, last state {self.stream.heartbeat().get('state', 'none')}"
        mark, now = self.stream.heartbeat_mark(), time.monotonic()
        if mark != self._mark:
            self._mark, self._beat_at = mark, now
        silent = now - self._beat_at
        if silent > (self.hang_after if mark else self.start_within):
            return f"no heartbeat for {silent:.0f} s"
        return self._ill(self.stream.heartbeat(), now) if mark else None

    def _ill(self, beat: dict, now: float) -> str | None:
        """What is wrong with a driver that beats, by what it says of itself."""
        state = beat.get("state")
        if state != self._state:
            self._state, self._state_at = state, now
        self._show(beat)
        if state != "running":
            slow = now - self._state_at > self.start_within
            return f"{state} for more than {self.start_within:.0f} s" if slow else None
        if not self._well and now - self._state_at > WELL_AFTER:
            self._well = True
            self.stream.recovered()
        health = beat.get("health", {})
        stalled = health.get("stalled_seconds", 0)
        return f"{health['lag_records']:,} records wait, none done for {stalled:.0f} s" if stalled > self.stall_after else None

    def _show(self, beat: dict) -> None:
        """A line in the task's log whenever the stream's state or its baseline changes."""
        shown = {name: beat.get(name) for name in ("state", "baseline_version", "last_error")}
        if shown != self._shown:
            self._shown = shown
            self.log.info("%s: %s", self.stream.name, ", ".join(f"{name} {value}" for name, value in shown.items()))

    def _relay(self) -> None:
        """What the driver has printed, now and then and bounded, into the task's log."""
        if time.monotonic() - self._relayed_at < RELAY_EVERY:
            return
        text, size = self.stream.printed(self._relayed, RELAY_BYTES)
        if text:
            left_out = size - self._relayed - RELAY_BYTES
            self.log.info("%s%s", f"... {left_out:,} bytes left out\n" if left_out > 0 else "", text.rstrip())
        self._relayed, self._relayed_at = size, time.monotonic()

    async def _bring_back(self, illness: str) -> None:
        age = self.stream.quiet_for()
        last_lines = f"(the end of {self.stream.log_file}, {age:.0f} s old)\n{self.stream.last_lines()}"
        self.log.error("%s: %s:\n%s", self.stream.name, illness, last_lines)
        now = time.monotonic()
        self._deaths = [*(death for death in self._deaths if death > now - self.window), now]
        await asyncio.to_thread(self.stream.kill, self._judged)
        if len(self._deaths) > self.restarts:
            raise GivenUp(f"{len(self._deaths)} deaths within {self.window:.0f} s; the last time, {illness}:\n{last_lines}")
        if self.stream.given_up():
            raise GivenUp(f"it was given up before, and one more try has not helped: {illness}:\n{last_lines}")
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
        self._watch_anew()

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
