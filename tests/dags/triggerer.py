"""A triggerer for one stream."""

import asyncio
import json
import threading
from contextlib import suppress
from types import SimpleNamespace

import pytest
from airflow.sdk.exceptions import TaskDeferred

from dags.stream_operator import StreamOperator
from dags.stream_trigger import StreamTrigger
from supervision.policy import Limits

ATTEMPT = SimpleNamespace(id="attempt-1", task_id="score", try_number=1)


def trigger(attempt=ATTEMPT, **limits) -> StreamTrigger:
    """What the operator hands to the triggerer, after its journey through Airflow's database."""
    impatient = Limits(**{"hang_after": 1.5, "start_within": 10} | limits)
    with pytest.raises(TaskDeferred) as deferral:
        StreamOperator(task_id="score", of="service-use", stream="score", limits=impatient).execute({"ti": attempt})
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
