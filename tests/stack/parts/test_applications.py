"""Starting and stopping an application, as its driver's run-state folder shows how that goes; Airflow itself is elsewhere."""

import datetime as dt
import threading
from collections.abc import Callable

import pytest

from stack.errors import StackError
from stack.instance import Instance
from stack.parts import applications
from supervision.files import StreamFolder
from supervision.status import read_status
from tests.support.waiting import until


@pytest.fixture
def instance(tmp_path, monkeypatch) -> Instance:
    class Api:
        def __init__(self, _):
            pass

        def unpause(self, dag: str) -> None:
            assert dag == "supervise_queries.rides"

    monkeypatch.setattr(applications, "AirflowApi", Api)
    made = Instance(tmp_path).make(base=0)
    (made.streams / "rides.queries").mkdir(parents=True)
    return made


def ends(instance: Instance, error: str) -> None:
    """A driver that ends with that."""
    stream, now = StreamFolder.of(instance.streams, "rides", "queries"), dt.datetime.now(dt.UTC).isoformat()
    stream.write_driver({"pid": 1, "started_at": now})
    stream.write_heartbeat({"at": dt.datetime.now(dt.UTC).isoformat(), "state": "starting", "last_error": error})


def test_one_that_was_given_up_is_tried_at_once_and_why_it_ends_is_said(instance, monkeypatch):
    stream, reported = StreamFolder.of(instance.streams, "rides", "queries"), []
    looks: list[StreamFolder] = []
    ends(instance, "what was wrong before")
    stream.mark_given_up()

    def looked_again() -> Callable[[], bool]:
        before = len(looks)
        return lambda: len(looks) > before + 1

    def supervise() -> None:
        error = "query rides-sessions failed: no column total_amont\n'Project [a plan of many lines, amount#{}]"
        until("the start clears the mark", lambda: not stream.is_given_up())
        until("the end of a driver since the start is reported", lambda: ends(instance, error.format(0)) or len(reported) > 1)
        ends(instance, error.format(1))
        until("the next end is seen", looked_again())
        stream.mark_given_up()

    monkeypatch.setattr(applications, "read_status", lambda of: looks.append(of) or read_status(of))
    supervisor = threading.Thread(target=supervise)
    supervisor.start()
    with pytest.raises(StackError) as failure:
        applications.start(instance, "rides", reported.append)
    supervisor.join()
    assert reported[1:] == ["its driver has ended, and is launched again: query rides-sessions failed: no column total_amont"]
    assert failure.value.what == (
        "rides.queries was given up, as it ended again and again: query rides-sessions failed: no column total_amont"
    )
    assert failure.value.remedy == "correct what it names, then: sundial queries start rides"
