"""Server-Sent Events of live topics: who hears what, what comes after a lost connection, and how it ends."""

import os
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from tests.serving import derived
from tests.serving.live import caught_up, first_events
from tests.support.waiting import until


def test_events_bring_the_service_asked_for_and_every_anomaly_and_go_on_where_a_listener_was(topics, serving, feed, at):
    topics.send("scored", [derived.scored("a", at(0), 1), derived.scored("b", at(0), 2)])
    caught_up(serving, 2)
    url = f"{serving.url}/api/events?feed={feed.name}&service=a"
    with httpx.stream("GET", url, timeout=20) as stream:
        lines = stream.iter_lines()
        assert next(lines) == ": listening"
        assert serving.state.events.listeners == 1, "from then on nothing is lost"
        flagged = derived.scored("b", at(1), 900, Anomalous=True)
        topics.send("scored", [flagged])
        topics.send("anomaly", [derived.anomaly(flagged)])
        until("both are read", lambda: serving.state.live.status.records == 4)
        [(id_, kind, anomaly)] = first_events(lines, 1)
    assert (kind, anomaly["service"], anomaly["value"]) == ("anomaly", "b", 900)
    until("the listener that left is forgotten", lambda: serving.state.events.listeners == 0, 25)
    topics.send("scored", [derived.scored("a", at(1), 3)])
    until("it is read", lambda: serving.state.live.status.records == 5)
    with httpx.stream("GET", url, timeout=20, headers={"Last-Event-ID": id_}) as stream:
        topics.send("scored", [derived.scored("a", at(2), 4)])
        missed, live = first_events(stream.iter_lines(), 2)
    assert [each["value"] for _, _, each in (missed, live)] == [3, 4]
    assert (missed[1], missed[2]["service"], missed[2]["low"]) == ("scored", "a", 88.0)
    with httpx.stream("GET", url, timeout=20, headers={"Last-Event-ID": "of-another-process"}) as stream:
        assert first_events(stream.iter_lines(), 1) == [(None, "resync", {})]


@pytest.mark.full
def test_the_process_stops_at_once_although_a_page_listens(topics, online, feed):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = os.environ | {
        "SUNDIAL_KAFKA": online.kafka,
        "SUNDIAL_REGISTRY": online.registry,
        "SUNDIAL_LAKE": online.lake,
        "SUNDIAL_STREAMS": online.streams,
    }
    process = subprocess.Popen([sys.executable, "-m", "uvicorn", "serving.app:app", "--port", str(port)], env=env)
    try:
        url = f"http://127.0.0.1:{port}"
        until("it answers", lambda: answers(url))
        with httpx.stream("GET", f"{url}/api/events?feed=service-use", timeout=20) as stream:
            assert next(stream.iter_lines()) == ": listening"
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) in (0, -signal.SIGTERM)
    finally:
        process.kill()
        process.wait()


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health").status_code == 200
    except httpx.TransportError:
        return False
