"""A run-state folder that refuses, as on a full disk: what passes costs no try, and what stays is told."""

import errno
import os

import pytest

from supervision import process
from tests.dags.triggerer import Triggerer, trigger
from tests.support.drivers import started, starts
from tests.support.waiting import until


def full(monkeypatch, times: int | None) -> list[int]:
    """The disk is full at so many launches, or at all; the times at which one was tried."""
    launch, tried = process.launch, []

    def refuses(*arguments) -> int:
        tried.append(1)
        if times is None or len(tried) <= times:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return launch(*arguments)

    monkeypatch.setattr(process, "launch", refuses)
    return tried


@pytest.mark.full
def test_a_disk_that_is_full_for_a_while_costs_no_try(streams, monkeypatch):
    tried = full(monkeypatch, times=3)
    with Triggerer(trigger(restarts=0)) as triggerer:
        until("a driver", started(streams, 1))
        until("a heartbeat", triggerer.stream.heartbeat_mark)
        assert triggerer.trigger.history.deaths == 0
    assert (len(tried), triggerer.events, triggerer.stream.is_given_up()) == (4, [], False)


def test_a_disk_that_stays_full_is_told(streams, monkeypatch):
    full(monkeypatch, times=None)
    with Triggerer(trigger(pause=1)) as triggerer:
        [event] = until("the trigger fires", lambda: triggerer.events)
    assert event == {"error": "service-use.score: [Errno 28] No space left on device"}
    assert triggerer.stream.is_given_up()
    assert starts(streams) == []
