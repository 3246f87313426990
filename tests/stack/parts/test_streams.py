"""Starting and stopping a stream, as its driver's run-state folder shows how that goes; Airflow itself is elsewhere."""

import datetime as dt
import threading
from collections.abc import Callable

import pytest

from stack.errors import StackError
from stack.instance import Instance
from stack.parts import airflow, streams
from stack.parts.streams import Stream
from supervision.files import StreamFolder
from supervision.status import read_status
from tests.support.waiting import until


@pytest.fixture(params=[Stream("rides", "queries"), Stream("service-use", "score")], ids=["queries", "score"])
def stream(request) -> Stream:
    return request.param


@pytest.fixture
def instance(tmp_path, stream, monkeypatch) -> Instance:
    class Api:
        def __init__(self, _):
            pass

        def unpause(self, dag: str) -> None:
            assert dag == stream.dag

    monkeypatch.setattr(streams, "AirflowApi", Api)
    made = Instance(tmp_path).make(base=0)
    stream.folder(made).path.mkdir(parents=True)
    for name in airflow.COMPONENTS:  # as if it had been started
        (made.runs / f"{name}.json").write_text("{}")
    return made


def ends(folder: StreamFolder, error: str) -> None:
    """A driver that ends with that."""
    folder.write_driver({"pid": 1, "started_at": dt.datetime.now(dt.UTC).isoformat()})
    folder.write_heartbeat({"at": dt.datetime.now(dt.UTC).isoformat(), "state": "starting", "last_error": error})


def test_one_that_was_given_up_is_tried_at_once_and_why_it_ends_is_said(instance, stream, monkeypatch):
    folder, reported = stream.folder(instance), []
    looks: list[StreamFolder] = []
    ends(folder, "what was wrong before")
    folder.mark_given_up()

    def looked_again() -> Callable[[], bool]:
        before = len(looks)
        return lambda: len(looks) > before + 1

    def supervise() -> None:
        error = "query rides-sessions failed: no column total_amont\n'Project [a plan of many lines, amount#{}]"
        until("the start clears the mark", lambda: not folder.is_given_up())
        until("the end of a driver since the start is reported", lambda: ends(folder, error.format(0)) or len(reported) > 1)
        ends(folder, error.format(1))
        until("the next end is seen", looked_again())
        folder.mark_given_up()

    monkeypatch.setattr(streams, "read_status", lambda of: looks.append(of) or read_status(of))
    supervisor = threading.Thread(target=supervise)
    supervisor.start()
    with pytest.raises(StackError) as failure:
        streams.start(instance, stream, reported.append)
    supervisor.join()
    assert reported[1:] == ["its driver has ended, and is launched again: query rides-sessions failed: no column total_amont"]
    assert failure.value.what == (
        f"{folder.path.name} was given up, as it ended again and again: query rides-sessions failed: no column total_amont"
    )
    command = {"queries": "sundial queries start rides", "score": "sundial streams start service-use"}[stream.kind]
    assert failure.value.remedy == f"correct what it names, then: {command}"


def test_a_stack_that_is_stopped_meanwhile_ends_the_wait(instance, stream):
    for file in instance.runs.glob("airflow-*.json"):
        file.unlink()
    with pytest.raises(StackError, match="was stopped"):
        streams.start(instance, stream, lambda _: None)
