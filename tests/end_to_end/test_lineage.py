"""A real Airflow tells a backend of OpenLineage what a night and a stream read and write, and works as well without one.

Airflow alone of a stack, with a stand-in for spark-submit: what jobs and drivers do is not asked here.
"""

import json
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from contracts.feeds import load_feed
from dags.lineage import WITHIN
from stack.instance import Instance
from stack.parts import airflow, process
from stack.parts.airflow_api import AirflowApi
from stack.parts.dag_run import watch
from stack.parts.task_output import task_log
from supervision.files import StreamFolder
from tests.support.drivers import STAND_IN, kill_all
from tests.support.waiting import until

pytestmark = [pytest.mark.timeout(1800), pytest.mark.full]
FEED = load_feed("service-use")
NIGHT, SUPERVISION, FIND = (f"{kind}.{FEED.name}" for kind in ("nightly_baseline", "supervise_streams", "find_incidents"))
SECRETS = {"OPENLINEAGE_API_KEY": "key-s3cret", "SUNDIAL_KAFKA_PASSWORD": "kafka-s3cret"}
SECRETS |= {"SUNDIAL_ALERT_WEBHOOK": "http://127.0.0.1:9/hook-s3cret"}
ENOUGH = 600  # seconds; generous, as everything is slow beside other work


class Backend(ThreadingHTTPServer):
    """Keeps what it is sent: to which path, with which login, and the body."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Request)
        self.events: list[tuple[str, str, str]] = []


class Request(BaseHTTPRequestHandler):
    server: Backend

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.events.append((self.path, self.headers["Authorization"], body))
        self.send_response(201)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def backend():
    server = Backend()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def start(instance, tmp_path) -> Callable[..., AirflowApi]:
    """Starts Airflow with more variables. If Airflow runs, it stops first."""
    spark_submit = tmp_path / "bin" / "spark-submit"
    spark_submit.parent.mkdir()
    spark_submit.write_text(
        f'#!/bin/sh\ncase "$*" in */score.py*) exec {sys.executable} {STAND_IN} "$@" ;; esac\nenv >>{tmp_path}/environment\n'
    )
    spark_submit.chmod(0o755)
    instance.make(base=0)

    def started(**more: str) -> AirflowApi:
        for name in airflow.COMPONENTS:
            process.stop(instance, name)
        variables = airflow.process_environment(instance) | {"SUNDIAL_SPARK_POOL": "default_pool"} | more
        variables["PATH"] = f"{spark_submit.parent}:{variables['PATH']}"
        parts = [airflow.part(instance, name, variables) for name in airflow.COMPONENTS]
        for part in parts:
            process.start(instance, part)
        for part in parts:
            process.wait(instance, part)
        return AirflowApi(instance)

    yield started
    kill_all(instance.streams)


def events(backend, *jobs: str) -> list[dict]:
    """Those of these jobs, in the order in which they came."""
    found = [json.loads(body) for _, _, body in list(backend.events)]
    return [event for event in found if not jobs or event["job"]["name"] in jobs]


def kinds(backend, job: str) -> list[str]:
    return [event["eventType"] for event in events(backend, job)]


def datasets(event: dict) -> tuple[list[str], list[str]]:
    return tuple([f"{each['namespace']} {each['name']}" for each in event[side]] for side in ("inputs", "outputs"))


def run(api: AirflowApi, dag: str) -> str:
    run = api.start(dag)
    watch(api, dag, run, print, ENOUGH)
    return run


def test_a_backend_gets_what_a_night_and_a_stream_move_and_is_not_needed(instance, start, backend, tmp_path):
    url = f"http://127.0.0.1:{backend.server_port}"
    api = start(OPENLINEAGE_URL=url, **SECRETS)
    run(api, NIGHT)
    until("the run's end is told", lambda: "COMPLETE" in kinds(backend, NIGHT))
    lake, topic = f"file {instance.lake}", f"kafka://{instance.kafka} {FEED.topic}"
    history, candidate, baseline = (f"{lake}/{name}/{FEED.table}" for name in ("history", "baseline_candidate", "baseline"))
    moved = {
        "archive": ([topic], [history, f"{topic}.dead-letter"]),
        "build_baseline": ([history], [candidate]),
        "check_baseline": ([candidate, history, baseline], [f"{lake}/gate_results"]),
    }
    for task, expected in moved.items():
        told = events(backend, f"{NIGHT}.{task}")
        assert [event["eventType"] for event in told] == ["START", "COMPLETE"], task
        assert [datasets(event) for event in told] == [expected] * 2, task
        assert {event["job"]["namespace"] for event in told} == {airflow.NAMESPACE}
    assert kinds(backend, NIGHT) == ["START", "COMPLETE"]

    a_stream_is_told_once(instance, api, backend)
    assert {(path, login) for path, login, _ in backend.events} == {("/api/v1/lineage", "Bearer key-s3cret")}
    secrets = [*SECRETS.values(), *instance.secrets.values()]
    assert not [secret for secret in secrets if any(secret in body for _, _, body in backend.events)]
    assert "OPENLINEAGE" not in (tmp_path / "environment").read_text(), "drivers get none of it"

    backend.shutdown()
    backend.server_close()
    task, seconds = found(api, instance, run(api, FIND))
    assert "Failed to emit OpenLineage `COMPLETE` event" in task
    assert seconds < 2 * WITHIN + 20

    count = len(backend.events)
    api = start(**SECRETS | {"OPENLINEAGE_URL": ""})
    task, _ = found(api, instance, api.trigger(FIND, {}))
    assert "penLineage" not in task
    assert len(backend.events) == count


def a_stream_is_told_once(instance: Instance, api: AirflowApi, backend) -> None:
    """When it begins, and when a person ends it, however long it runs."""
    stream, job = StreamFolder.of(instance.streams, FEED.name, "score"), f"{SUPERVISION}.score"
    api.unpause(SUPERVISION)
    until("the stream", stream.heartbeat_mark, ENOUGH)
    until("its start", lambda: kinds(backend, job), ENOUGH)
    mark = stream.heartbeat_mark()
    until("it goes on", lambda: stream.heartbeat_mark() != mark)
    assert kinds(backend, job) == ["START"]
    assert f"kafka://{instance.kafka} {FEED.scored_topic}" in datasets(events(backend, job)[0])[1]
    api.pause(SUPERVISION)
    api.end_active(SUPERVISION)
    until("its end", lambda: "COMPLETE" in kinds(backend, SUPERVISION), ENOUGH)


def found(api: AirflowApi, instance: Instance, run: str) -> tuple[str, float]:
    """The log of `find_incidents` in that run, and how long it took."""
    watch(api, FIND, run, print, ENOUGH)
    [task] = api.call("GET", f"dags/{FIND}/dagRuns/{run}/taskInstances")["task_instances"]
    log = task_log(instance, task)
    until("its log", log.exists)
    return log.read_text(), task["duration"]
