"""What tasks read and write, by OpenLineage's names; off unless there is a backend, and then never in a task's way."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from airflow.sdk import Asset

from dags import lineage
from dags.lineage import dataset, send_once, topic

REPO = Path(__file__).resolve().parents[2]
HERE = {"SUNDIAL_KAFKA": "kafka-1:9093, kafka-2:9093", "SUNDIAL_LAKE": "/lake"}


def named(task) -> tuple[list[str], list[str]]:
    """What the events of a task name as inputs and outputs."""
    found = task.get_openlineage_facets_on_start()
    return tuple([f"{each.namespace} {each.name}" for each in side] for side in (found.inputs, found.outputs))


@pytest.fixture
def here(monkeypatch):
    for name, value in HERE.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("lake", "named"),
    [
        ("/lake/", ("file", "/lake/history/a_b")),
        ("file:///lake", ("file", "/lake/history/a_b")),
        ("s3a://bucket/lake", ("s3://bucket", "lake/history/a_b")),
        ("gs://bucket", ("gs://bucket", "history/a_b")),
        ("hdfs://name:8020/lake", ("hdfs://name:8020", "/lake/history/a_b")),
        ("abfss://box@one.dfs.core.windows.net/lake", ("abfss://box@one.dfs.core.windows.net", "lake/history/a_b")),
    ],
)
def test_a_table_is_named_by_where_it_is(lake, named):
    assert dataset("sundial://lake/history/a_b", {"SUNDIAL_LAKE": lake}) == named


def test_a_relative_lake_is_named_by_its_whole_path(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert dataset("sundial://lake/history/a", {"SUNDIAL_LAKE": "lake"}) == ("file", f"{tmp_path}/lake/history/a")


def test_a_topic_is_named_by_its_first_broker_and_other_assets_are_not_named():
    assert dataset(topic("rides").uri, HERE) == ("kafka://kafka-1:9093", "rides")
    assert dataset(topic("rides").uri, {}) is None
    assert dataset("sundial://lake/history/a", {}) is None
    assert dataset(Asset("other", uri="s3://bucket/other").uri, HERE) is None


def test_a_night_leads_from_the_topic_to_the_baseline(bag, here):
    night = bag.dags["nightly_baseline.road-traffic"]
    lake, kafka = "file /lake", "kafka://kafka-1:9093"
    history, candidate, baseline = (f"{lake}/{name}/road_traffic" for name in ("history", "baseline_candidate", "baseline"))
    assert {task.task_id: named(task) for task in night.tasks if isinstance(task, lineage.Traced)} == {
        "archive": ([f"{kafka} road-traffic"], [history, f"{kafka} road-traffic.dead-letter"]),
        "build_baseline": ([history], [candidate]),
        "check_baseline": ([candidate, history, baseline], [f"{lake}/gate_results"]),
        "promote_baseline": ([candidate], [baseline]),
    }


def test_a_stream_leads_from_its_inputs_to_its_topics(bag, here):
    [score] = bag.dags["supervise_streams.road-traffic"].tasks
    kafka = "kafka://kafka-1:9093 road-traffic"
    assert named(score) == (
        [kafka, "file /lake/baseline/road_traffic"],
        [f"{kafka}.scored", f"{kafka}.anomalies", f"{kafka}.dead-letter"],
    )
    [queries] = bag.dags["supervise_queries.rides"].tasks
    reads, writes = named(queries)
    assert "kafka://kafka-1:9093 rides" in reads
    assert writes
    assert all(each.startswith("kafka://kafka-1:9093 ") for each in reads + writes)


def test_every_job_that_moves_rows_says_what_it_reads_or_writes(bag):
    without = {"maintain_tables", "replay_dead_letters"}  # rows stay as they are; the topic is chosen when it is run
    for dag in bag.dags.values():
        for task in dag.tasks:
            if isinstance(task, lineage.Traced):
                assert bool(task.inlets or task.outlets) is (task.task_id not in without), task


@pytest.mark.parametrize("env", [{}, {"OPENLINEAGE_URL": ""}, {"OPENLINEAGE_API_KEY": "k"}])
def test_nothing_is_set_where_nothing_is_sent(env):
    send_once(given := dict(env))
    assert given == env


def test_an_event_is_sent_once_unless_a_person_says_otherwise():
    env = {"OPENLINEAGE_URL": "https://lineage.example", "OPENLINEAGE_API_KEY": "k", "OPENLINEAGE_ENDPOINT": "in"}
    send_once(env)
    found = {name.removeprefix(lineage.TRANSPORT): value for name, value in env.items() if name.startswith(lineage.TRANSPORT)}
    assert json.loads(found.pop("AUTH")) == {"type": "api_key", "apiKey": "k"}
    assert json.loads(found.pop("RETRY")) == {"total": 0}
    assert found == {"TYPE": "http", "URL": "https://lineage.example", "TIMEOUT": "3", "ENDPOINT": "in"}
    own = {"OPENLINEAGE_URL": "https://lineage.example", "OPENLINEAGE__TRANSPORT__TYPE": "kafka"}
    send_once(given := dict(own))
    assert given == own


def in_a_task(code: str, **variables: str) -> list[str]:
    """The lines that a process prints which begins as a task does, with these variables alone of OpenLineage's."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("OPENLINEAGE")} | variables
    env |= {"PYTHONPATH": str(REPO)}
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


LOADED = """
import sys
import dags.spark_job, dags.stream_operator
from airflow.providers.openlineage.plugins.openlineage import OpenLineageProviderPlugin
print(len(OpenLineageProviderPlugin.listeners), any(name.split(".")[0] == "openlineage" for name in sys.modules))
"""


@pytest.mark.parametrize(("url", "said"), [("", "0 False"), pytest.param("http://127.0.0.1:9", "1 True", marks=pytest.mark.full)])
def test_without_a_backend_nothing_of_it_is_loaded(url, said):
    assert in_a_task(LOADED, OPENLINEAGE_URL=url)[-1] == said


SENDING = """
import datetime, logging, sys, time, uuid
logging.basicConfig(stream=sys.stdout, format="%(message)s")
import dags.lineage
from airflow.providers.openlineage.plugins.adapter import OpenLineageAdapter
now, adapter, began = datetime.datetime.now(datetime.UTC).isoformat(), OpenLineageAdapter(), time.monotonic()
adapter.start_task(str(uuid.uuid4()), "a", now, None, None, None, None, None, None)
print(time.monotonic() - began)
"""


@pytest.mark.full
@pytest.mark.parametrize("kind", ["away", "silent"])
def test_a_backend_that_does_not_answer_is_named_in_the_log_and_hardly_waited_for(kind):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it connects, and says nothing
        url = f"http://127.0.0.1:{9 if kind == 'away' else silent.getsockname()[1]}"
        *said, seconds = in_a_task(SENDING, OPENLINEAGE_URL=url, OPENLINEAGE_API_KEY="s3cret")
    assert "Failed to emit OpenLineage `START` event" in "\n".join(said)
    assert "127.0.0.1" in "\n".join(said)
    assert "s3cret" not in "\n".join(said)
    assert float(seconds) < 2 * lineage.WITHIN, "one try"
