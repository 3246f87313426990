"""Keeps a stream's driver running, from Airflow's triggerer, for a task that is deferred meanwhile.

The driver is launched again here and not by resuming the task: that takes a second instead of five, needs neither scheduler nor
worker, and avoids that Airflow fails a task which resumes before the end of its last step has been recorded.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from airflow.triggers.base import BaseTrigger, TriggerEvent
from asgiref.sync import sync_to_async

from dags.spark_job import stream_environment
from supervision import machine, policy, process
from supervision.files import LaunchRecord, StreamFolder

LOOK_EVERY = 1.0
RELAY_EVERY, RELAY_BYTES = 10.0, 4096  # of the driver's log into the task's; the rest stays in driver.log
STATE_WITHIN = 15.0  # seconds that Airflow has to answer with the state that a person has set
_ENDING: set[asyncio.Future] = set()  # acts that outlive their trigger: an event loop itself keeps no task alive


class StreamTrigger(BaseTrigger):
    """Observes the stream each second and does what `supervision/policy.py` decides.

    Fires once, with the driver's last lines, when the stream is given up.
    """

    SETTINGS = ("folder", "command", "hang_after", "stall_after", "start_within", "restarts", "well_after", "pause")

    def __init__(
        self,
        folder: str,
        command: list[str],
        hang_after: float,
        stall_after: float,
        start_within: float,
        restarts: int,
        well_after: float,
        pause: float,
    ):
        super().__init__()
        self.folder, self.command = folder, command
        self.hang_after, self.stall_after, self.start_within = hang_after, stall_after, start_within
        self.restarts, self.well_after, self.pause = restarts, well_after, pause
        self.limits = policy.Limits(hang_after, stall_after, start_within, restarts, well_after, pause)
        self.stream = StreamFolder(folder)
        self.history = policy.History()
        self._judged = LaunchRecord()  # the launch that the last observation was of
        self._waiting = False
        self._refused_since: float | None = None  # when the run-state folder began to refuse
        self._expect_new_driver()

    def _expect_new_driver(self) -> None:
        self._logged_state: dict[str, Any] | None = None
        self._relayed, self._relayed_at = self.stream.read_launch().log_offset, 0.0

    def serialize(self) -> tuple[str, dict[str, Any]]:
        path = f"{type(self).__module__}.{type(self).__qualname__}"
        return path, {name: getattr(self, name) for name in self.SETTINGS}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        try:
            while True:
                await asyncio.sleep(await self._look())
        except GivenUp as reason:
            self.stream.mark_given_up()
            yield TriggerEvent({"error": f"{self.stream.name}: {reason}"})

    async def _look(self) -> float:
        """Once; returns the seconds until the next look. What the folder refuses now, as on a full disk, it may allow soon: the
        stream is given up only after `pause` seconds of that."""
        try:
            seen = await asyncio.to_thread(self._observe)
            history, action = policy.decide(self.history, seen, self.limits)
            await self._carry_out(action)
            self.history = history
        except ConnectionError:
            raise  # this process has lost the triggerer that it logs to, and dies: the next one finds the stream as it is
        except OSError as error:
            now = time.monotonic()
            if self._refused_since is None:
                self._refused_since = now
                self.log.warning("%s: %s; trying again", self.stream.name, error)
            if now - self._refused_since > self.pause:
                raise GivenUp(str(error)) from error
            return LOOK_EVERY
        self._refused_since = None
        return min(action.seconds, LOOK_EVERY) if isinstance(action, policy.Wait) else LOOK_EVERY

    def _observe(self) -> policy.Observation:
        self.stream.look()
        self._judged = self.stream.read_launch()
        if self.history.watching:
            self._relay_log()
        gone, mark = process.is_gone(self.stream), self.stream.heartbeat_mark()
        at, heartbeat = time.monotonic(), self.stream.read_heartbeat()
        if self.history.watching and mark and not gone:
            self._log_state(heartbeat)
        return policy.Observation(at, gone, self.stream.is_given_up(), heartbeat, mark, machine.slowness())

    async def _carry_out(self, action: policy.Action) -> None:
        match action:
            case policy.Wait(seconds):
                if not self._waiting:
                    self.log.warning("%s was given up; it is tried once more in %.0f s", self.stream.name, seconds)
                self._waiting = True
            case policy.Adopt():
                self.log.info("%s runs already, pid %s; watching it", self.stream.name, self.stream.read_driver().get("pid"))
            case policy.Launch(stopped):
                if stopped:
                    self.log.info("%s has stopped on request; it is launched again", self.stream.name)
                await self._launch()
            case policy.Relaunch(reason, pause):
                await self._kill(reason)
                await asyncio.sleep(pause)
                await self._launch()
            case policy.GiveUp(reason, explanation):
                last_lines = await self._kill(reason)
                raise GivenUp(f"{explanation}:\n{last_lines}")
            case policy.Recovered():
                self.stream.clear_given_up()

    def _log_state(self, heartbeat: dict[str, Any]) -> None:
        """A line in the task's log whenever the stream's state or its baseline changes."""
        state = {name: heartbeat.get(name) for name in ("state", "baseline_version", "last_error")}
        if state != self._logged_state:
            self._logged_state = state
            self.log.info("%s: %s", self.stream.name, ", ".join(f"{name} {value}" for name, value in state.items()))

    def _relay_log(self) -> None:
        """What the driver has printed goes into the task's log, every RELAY_EVERY seconds and at most RELAY_BYTES of it."""
        if time.monotonic() - self._relayed_at < RELAY_EVERY:
            return
        text, size = self.stream.read_log(self._relayed, RELAY_BYTES)
        if text:
            left_out = size - self._relayed - RELAY_BYTES
            self.log.info("%s%s", f"... {left_out:,} bytes left out\n" if left_out > 0 else "", text.rstrip())
        self._relayed, self._relayed_at = size, time.monotonic()

    async def _kill(self, reason: str) -> str:
        """End what is left of the observed driver; the last lines that it printed."""
        last_lines = f"(the end of {self.stream.log}, {self.stream.log_age():.0f} s old)\n{self.stream.log_tail()}"
        self.log.error("%s: %s:\n%s", self.stream.name, reason, last_lines)
        await asyncio.to_thread(process.kill, self.stream, self._judged)
        return last_lines

    async def _launch(self) -> None:
        last = self.stream.read_launch()
        if await asyncio.to_thread(process.is_gone, self.stream):
            await asyncio.to_thread(process.kill, self.stream, last)  # the half that may be left of it
        try:
            # Not in a thread: a launch takes milliseconds, and none may happen after this trigger was cancelled.
            pid = process.launch(self.stream, self.command, stream_environment())
            self.log.info("launched %s, pid %d: %s", self.stream.name, pid, " ".join(self.command))
        except process.AlreadyRunning as running:
            self.log.info("%s: %s; watching it", self.stream.name, running)
        self._expect_new_driver()

    async def on_kill(self) -> None:
        """Airflow cancels a trigger again each second until it has ended, within this method, too: what it began goes on."""
        ending = asyncio.ensure_future(self._end())
        _ENDING.add(ending)
        ending.add_done_callback(_ENDING.discard)
        await asyncio.shield(ending)

    async def _end(self) -> None:
        """A person marked the task failed or successful, or cleared it: the stream stops at a batch boundary.

        Airflow calls `on_kill` also when it moves the trigger to another triggerer, because this one was late. Then the same
        attempt is still deferred, and the stream must run on. A cleared task may be deferred again too, but as another attempt.
        """
        if self.stream.read_supervisor() == str(self.task_instance.id):
            if await self._stays_deferred():
                return
            self.stream.write_supervisor("")  # nobody's, until another attempt is in charge
        self.stream.clear_given_up()  # the next attempt, which may wait already, tries at once what a person starts again
        if process.request_stop(self.stream):
            self.log.info("asked %s to stop", self.stream.name)

    async def _stays_deferred(self) -> bool:
        """A busy Airflow may cancel the trigger before it answers with the state that a person has set. So it is asked for a
        while: nobody would stop the stream otherwise."""
        deadline = time.monotonic() + STATE_WITHIN
        while await sync_to_async(self._task_state)() == "deferred":
            if time.monotonic() > deadline:
                return True
            await asyncio.sleep(LOOK_EVERY)
        return False

    def _task_state(self) -> str | None:
        task = self.task_instance
        states = RuntimeTaskInstance.get_task_states(
            dag_id=task.dag_id, task_ids=[task.task_id], run_ids=[task.run_id], map_index=task.map_index
        )
        return next(iter(states.get(task.run_id, {}).values()), None)


class GivenUp(RuntimeError):
    """Restarting the driver does not help."""
