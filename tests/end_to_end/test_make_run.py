"""`make run`, as the README has it, in a folder and on ports of its own; and `make stop`, which leaves nothing running."""

import os
import re
import subprocess

import httpx
import pytest

from contracts.feeds import load_feed
from stack.instance import ROOT, Instance
from stack.main_job import STEPS
from stack.parts import process
from stack.parts.airflow_api import AirflowApi
from tests.end_to_end import oracle
from tests.support import topics

pytestmark = [pytest.mark.timeout(1200), pytest.mark.full, pytest.mark.parts]
FEED = load_feed("service-use")
NIGHTLY = f"nightly_baseline.{FEED.name}"
SHOWN = re.compile(r"^ *[\d.]+ s +(\d\d:\d\d:\d\d) UTC (\S+): (\d+) where (\d+) is usual$", re.MULTILINE)


def make(instance: Instance, *words: str) -> str:
    """What it prints; it must succeed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SUNDIAL_")}
    own = {"SUNDIAL_HOME": str(instance.path), "COLUMNS": "300"}
    done = subprocess.run(
        ["make", *words], cwd=ROOT, env=clean | own, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def anomalies(instance: Instance) -> set[tuple[str, str, str, str]]:
    """Those in the topic, in the words of what is printed: time, service, value, what is usual."""
    rows = [oracle.record(message.value(), "anomaly") for message in topics.consume(instance.kafka, FEED.anomalies_topic)]
    at = [oracle.dt.datetime.fromtimestamp(row["Timestamp"] / 1000, oracle.dt.UTC) for row in rows]
    return {
        (f"{when:%H:%M:%S}", row["ServiceName"], str(row["Value"]), f"{row['Expected']:.0f}")
        for when, row in zip(at, rows, strict=True)
    }


def test_the_main_job_from_nothing_to_anomalies_and_to_nothing_again(instance):
    said = make(instance, "run", "PORT_BASE=0")
    assert re.findall(r"step (\d)/8 ", said) == [str(number) for number in range(1, STEPS + 1)]
    shown = set(SHOWN.findall(said))
    assert "checkout" in {service for _, service, *_ in shown}, said
    assert shown <= anomalies(instance)
    assert instance.secrets["password"] not in said, "what is no terminal may be a log that others read"
    assert f"password in {instance.path}/secrets.json" in said

    page = httpx.get(instance.api, timeout=30)
    assert (page.status_code, page.headers["content-type"].partition(";")[0]) == (200, "text/html")
    told = httpx.get(f"{instance.api}/api/feeds/{FEED.name}/anomalies", params={"service": "checkout"}, timeout=30).json()
    assert {each["service"] for each in told} == {"checkout"}
    nights = AirflowApi(instance).call("GET", f"dags/{NIGHTLY}/dagRuns")["dag_runs"]
    assert {night["run_type"] for night in nights} == {"scheduled"}
    assert "success" in {night["state"] for night in nights}
    dates = [night["partition_key"] for night in nights]
    assert len(dates) == len(set(dates)), "one night for a date, and no second; the next one may have become due"
    make(instance, "status")

    ports = list(instance.ports.values())
    make(instance, "stop")
    assert process.strays(instance) == []
    assert process.recorded(instance) == []
    assert not [port for port in ports if process.listening(port)]
