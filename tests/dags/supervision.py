"""A triggerer for one stream, and what tests ask about its processes."""

import asyncio
import json
import os
import signal
import threading
import time
from contextlib import suppress
from types import SimpleNamespace

import psutil
import pytest
from airflow.sdk.exceptions import TaskDeferred

from dags.stream_operator import StreamOperator
from dags.stream_trigger import StreamTrigger

ATTEMPT = SimpleNamespace(id="attempt-1", try_number=1)


def trigger(attempt=ATTEMPT, **overrides) -> StreamTrigger:
    """What the operator hands to the triggerer, after its journey through Airflow's database."""
    settings = {"task_id": "score", "of": "service-use", "stream": "score", "hang_after": 1.5, "start_within": 10}
    with pytest.raises(TaskDeferred) as deferral:
        StreamOperator(**settings | overrides).execute({"ti": attempt})
    assert deferral.value.method_name == "given_up"
    path, arguments = deferral.value.trigger.serialize()
    assert path == "dags.stream_trigger.StreamTrigger"
    return StreamTrigger(**json.loads(json.dumps(arguments)))


class Triggerer:
    """Runs a trigger in a thread of its own, as Airflow's triggerer would; leaving it is the triggerer's shutdown."""

    def __init__(self, trigger: StreamTrigger):
        self.trigger, self.stream, self.events = trigger, trigger.stream, []
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_until_complete, args=[self._run()])

    async def _run(self):
        with suppress(asyncio.CancelledError):
            async for event in self.trigger.run():
                self.events.append(event.payload)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        for task in asyncio.all_tasks(self.loop):
            self.loop.call_soon_threadsafe(task.cancel)
        self.thread.join(10)


def until(condition, seconds: float = 15):
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)
    return result


def starts(streams) -> list[int]:
    """Pids of every driver that ever got the lock."""
    file = streams / "starts"
    return [int(line.split()[0]) for line in file.read_text().splitlines()] if file.exists() else []


def alive(pid: int) -> bool:
    """A process that only waits for its parent to read its exit code is not."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def jvm(pid: int) -> int:
    return psutil.Process(pid).ppid()


def kill(pid: int, sign: int = signal.SIGKILL):
    os.kill(pid, sign)
