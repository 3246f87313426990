"""`make run`, as the README has it, in a folder and on ports of its own; and `make stop`, which leaves nothing running.

The test takes the README's picture: it writes build/dashboard.png. Copy that to docs/dashboard.png when the page has changed.
"""

import datetime as dt
import json
import os
import re
import subprocess

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright

from contracts.feeds import load_feed
from sources.services import service_names
from sources.simulated_incidents import Incident, parse_incident
from stack import demo
from stack.instance import ROOT, Instance
from stack.main_job import STEPS
from stack.parts import live, process
from stack.parts.airflow_api import AirflowApi
from stack.parts.samples import SAMPLES
from stack.parts.streams import Stream
from tests.end_to_end import oracle
from tests.serving.conftest import CHROMIUM, QUIET
from tests.support import topics
from tests.support.waiting import until

pytestmark = [pytest.mark.timeout(3000), pytest.mark.full, pytest.mark.parts]
FEED = load_feed("service-use")
FEEDS = (FEED.name, *(sample.feed for sample in SAMPLES))
SOON = 600.0  # seconds; after `make run`, the query of incidents starts
PICTURE = ROOT / "build" / "dashboard.png"
NIGHTLY = f"nightly_baseline.{FEED.name}"
SHOWN = re.compile(r"^ *[\d.]+ s +(\d\d:\d\d:\d\d) UTC (\S+): (\d+) where (\d+) is usual$", re.MULTILINE)


def make(instance: Instance, *words: str) -> str:
    """What it prints; it must succeed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SUNDIAL_")}
    own = {"SUNDIAL_HOME": str(instance.path), "COLUMNS": "300"}
    done = subprocess.run(
        ["make", *words], cwd=ROOT, env=clean | own, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1800
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


def baseline(instance: Instance, feed: str) -> int:
    """Version of the baseline by which the feed's stream scores, or -1 if there is none yet."""
    return Stream(feed, "score").status(instance).heartbeat.get("baseline_version", -1)


def incidents(instance: Instance, **choice: str) -> list[dict]:
    weeks = {"minutes": str(7 * 1440 * 5), "limit": "500"}
    return httpx.get(f"{instance.api}/api/incidents", params=weeks | choice, timeout=30).json()


def unseen(instance: Instance) -> list[Incident]:
    """Those of the history in which no incident was found."""
    history = json.loads(demo.loaded(instance, FEED).read_text())
    names = service_names(live.SERVICES)
    planned = [parse_incident(each, history["start"], names, FEED.interval_seconds) for each in demo.PAST_INCIDENTS]
    seen = [
        (each["service"], *(dt.datetime.fromisoformat(each[name]).timestamp() * 1000 for name in ("start", "end")))
        for each in incidents(instance, feed=FEED.name, state="closed")
    ]
    return [
        each
        for each in planned
        if not any(service == each.service and start < each.end and end > each.start for service, start, end in seen)
    ]


def take_picture(instance: Instance) -> None:
    """Of the page of checkout, whose incident goes on."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
        page = browser.new_page(viewport={"width": 1300, "height": 900}, color_scheme="light")
        page.goto(f"{instance.api}/?feed={FEED.name}&service=checkout&minutes=60")
        expect(page.locator("#connection")).to_have_text("Live", timeout=60_000)
        expect(page.locator("#incidents li").first).to_be_visible(timeout=60_000)
        until(
            "readings are drawn",
            lambda: page.evaluate("(sundial.chart.data[1] ?? []).filter((value) => value !== null).length > 100"),
        )
        PICTURE.parent.mkdir(exist_ok=True)
        page.screenshot(path=PICTURE)
        browser.close()


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
    fleet = httpx.get(f"{instance.api}/api/fleet", params={"points": "0"}, timeout=30).json()["services"]
    samples = {each["feed"]: each for each in fleet if each["feed"] in FEEDS[1:]}
    assert samples.keys() == set(FEEDS[1:])
    assert {each["status"] for each in samples.values()} <= {"normal", "anomalous", "incident"}, (
        "scored by a baseline, and not silent"
    )

    until("each feed is scored by its baseline", lambda: min(baseline(instance, feed) for feed in FEEDS) >= 0, SOON)
    assert unseen(instance) == [], "each incident of the history is found"
    until("an incident goes on", lambda: incidents(instance, service="checkout", state="open"), SOON)
    if CHROMIUM:
        take_picture(instance)

    ports = list(instance.ports.values())
    make(instance, "stop")
    assert process.strays(instance) == []
    assert process.recorded(instance) == []
    assert not [port for port in ports if process.listening(port)]
