"""Starting and stopping an application, as its driver's run-state folder tells how that goes; Airflow itself is elsewhere."""

import datetime as dt
import json
import threading
import time

import pytest

from stack import applications
from stack.errors import StackError
from stack.home import Home


@pytest.fixture
def home(tmp_path, monkeypatch) -> Home:
    class Api:
        def __init__(self, _):
            pass

        def unpause(self, dag: str) -> None:
            assert dag == "supervise_queries.rides"

    monkeypatch.setattr(applications, "AirflowApi", Api)
    made = Home(tmp_path).make(base=0)
    (made.streams / "rides.queries").mkdir(parents=True)
    return made


def ends(home: Home, error: str) -> None:
    """A driver that ends with that."""
    folder, now = home.streams / "rides.queries", dt.datetime.now(dt.UTC).isoformat()
    (folder / "driver.json").write_text(json.dumps({"pid": 1, "started_at": now}))
    beat = {"at": dt.datetime.now(dt.UTC).isoformat(), "state": "starting", "last_error": error}
    (folder / "heartbeat.json").write_text(json.dumps(beat))


def test_one_that_was_given_up_is_tried_at_once_and_why_it_ends_is_told(home):
    given_up, told = home.streams / "rides.queries" / "given-up", []
    ends(home, "what was wrong before")
    given_up.touch()

    def supervise() -> None:
        time.sleep(0.7)
        for number in range(2):
            ends(home, f"query rides-sessions failed: no column total_amont\n'Project [a plan of many lines, amount#{number}]")
            time.sleep(0.7)
        given_up.touch(exist_ok=False)

    supervisor = threading.Thread(target=supervise)
    supervisor.start()
    with pytest.raises(StackError) as failure:
        applications.start(home, "rides", told.append)
    supervisor.join()
    assert told[1:] == ["its driver has ended, and is launched again: query rides-sessions failed: no column total_amont"]
    assert failure.value.what == (
        "rides.queries was given up, as it ended again and again: query rides-sessions failed: no column total_amont"
    )
    assert failure.value.remedy == "mend what it names, then: sundial queries start rides"
