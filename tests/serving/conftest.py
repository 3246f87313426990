"""A feed of the test's own, so that its topics are nobody else's, and settings that point at folders of the test's own."""

import contextlib
import datetime as dt
import os
import shutil
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn
import yaml
from fastapi.testclient import TestClient
from playwright.sync_api import sync_playwright

from contracts.feeds import Feed, Rule
from serving.app import create_app
from serving.settings import Settings
from serving.state import State
from supervision.files import StreamFolder, locked
from tests.serving import derived
from tests.support.waiting import until

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = "--no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update --disable-sync"
DESK, PHONE = 1300, 360  # pixels that a screen is wide
ON_A_PHONE_TOO = pytest.mark.parametrize("screen", [DESK, pytest.param(PHONE, marks=pytest.mark.full)])
NASTY = "<img src=x onerror=\"document.title='owned'\">"  # a service may be called that


@pytest.fixture
def feed() -> Feed:
    return Feed(
        name=f"serving-{uuid.uuid4().hex[:8]}",
        description="Requests of the test",
        record="service_use_record",
        timezone="America/New_York",
        rule=Rule(percent=5, spread=6, minimum=20),
    )


@pytest.fixture
def lake(tmp_path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def run_state(tmp_path) -> Path:
    return tmp_path / "streams"


@pytest.fixture
def drive(run_state, feed) -> Iterator[Callable[..., None]]:
    """drive(started, beat): a driver of the feed's scoring stream lives; `beat` overrides fields of its heartbeat."""
    with contextlib.ExitStack() as locks:

        def lives(started: dt.datetime, beat: dict) -> None:
            stream = StreamFolder.of(run_state, feed.name, "score")
            stream.make()
            locks.enter_context(locked(stream.driver_lock))
            driver = {
                "pid": os.getpid(),
                "started_at": started.isoformat(),
                "feed": feed.name,
                "stream": "score",
                "spark_application": "local-1",
            }
            stream.write_driver(driver)
            heartbeat = {"state": "running", "baseline_version": 1, "generation": 7, "last_error": None}
            heartbeat |= {"at": started.isoformat(), "query_started_at": started.isoformat()}
            stream.write_heartbeat(heartbeat | beat)

        yield lives


def declare(folder: Path, *feeds: Feed) -> Path:
    """The folder, in which these feeds are declared now."""
    folder.mkdir(exist_ok=True)
    for feed in feeds:
        (folder / f"{feed.name}.yaml").write_text(yaml.safe_dump(feed.model_dump(mode="json")))
    return folder


def declare_query(feeds: Path, name: str, application: str) -> None:
    """A query that writes a table, declared beside the folder of the feeds."""
    inputs = {"check_ins": {"topic": "check-ins", "record": "check_in", "encoding": "json"}}
    outputs = [{"topic": f"{name}.rows", "record": "check_in", "key": "User"}]
    query = {"name": name, "description": "Places", "application": application, "inputs": inputs, "outputs": outputs}
    folder = feeds.parent / "queries"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(query | {"sql": "SELECT * FROM check_ins"}))


@pytest.fixture
def declared(tmp_path, feed) -> Path:
    """The folder of the declarations, with the feed's."""
    return declare(tmp_path / "feeds", feed)


@pytest.fixture
def offline(lake, run_state, declared) -> Settings:
    """Settings whose broker and registry nobody answers at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    registry = f"http://127.0.0.1:{port}/apis/ccompat/v7"
    return Settings(f"127.0.0.1:{port}", registry, str(lake), str(run_state), feeds=declared)


@pytest.fixture
def online(broker, lake, run_state, declared) -> Settings:
    return Settings(broker.kafka, broker.registry, str(lake), str(run_state), feeds=declared)


@pytest.fixture(scope="module")
def browser():
    """Chromium. Not for longer than a module: while it is there, an event loop runs in this thread, and no asyncio.run can."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
        yield browser
        browser.close()


@pytest.fixture
def screen() -> int:
    """Pixels from left to right: a test marked `ON_A_PHONE_TOO` says others."""
    return DESK


@pytest.fixture
def page(browser, screen):
    """A page on which no script may fail and nothing may be refused by the content security policy."""
    hand = {"has_touch": True, "is_mobile": True} if screen == PHONE else {}
    context = browser.new_context(viewport={"width": screen, "height": 1000}, timezone_id="Asia/Tokyo", **hand)
    page, faults = context.new_page(), []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if "Content Security Policy" in message.text else None)
    yield page
    context.close()
    assert faults == []


@contextlib.contextmanager
def served(settings: Settings, port: int = 0) -> Iterator[tuple[str, State]]:
    """The app behind a real port, if none is given a free one: its URL and its state."""
    app = create_app(settings)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=3))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until("the server listens", lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}", app.state.sundial
    finally:
        app.state.sundial.events.close()
        server.should_exit = True
        thread.join(15)
    assert not thread.is_alive(), "the server did not stop"


@pytest.fixture
def at() -> Callable[[int], dt.datetime]:
    """The instant of an interval's number; the first was ten minutes ago."""
    start = dt.datetime.now(dt.UTC).replace(microsecond=0, second=0) - dt.timedelta(minutes=10)
    return lambda interval: start + dt.timedelta(seconds=10 * interval)


@pytest.fixture
def topics(broker, feed) -> Iterator[derived.Topics]:
    """The feed's derived topics, empty."""
    made = derived.Topics(broker.kafka, broker.registry, feed)
    made.create()
    yield made
    made.delete()


class Served(httpx.Client):
    """A client of a feed's routes that knows the app behind them."""

    state: State
    url: str


@pytest.fixture
def serving(online, feed) -> Iterator[Served]:
    """The app, following the topics."""
    with served(online) as (url, state), Served(base_url=f"{url}/api/feeds/{feed.name}") as client:
        client.state, client.url = state, url
        yield client


@pytest.fixture
def client(offline):
    """Without the app's lifespan: nothing follows Kafka."""
    return TestClient(create_app(offline), base_url="http://127.0.0.1")


def bucket_rows(series: dict) -> list[dict]:
    """The buckets of a series as the API answers it, one by one, each with its `at`."""
    start, length = dt.datetime.fromisoformat(series["start"]), dt.timedelta(seconds=series["bucket_seconds"])
    names, columns = zip(*series["buckets"].items(), strict=True)
    cells = enumerate(zip(*columns, strict=True))
    return [{"at": start + number * length} | dict(zip(names, row, strict=True)) for number, row in cells]


def readings(series: dict) -> dict[dt.datetime, float]:
    """The mean of each bucket that has readings: of a bucket of one interval, its reading."""
    return {each["at"]: each["mean"] for each in bucket_rows(series) if each["count"]}


def problem(answer, status: int, kind: str) -> dict:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    body = answer.json()
    assert (body["type"], body["status"]) == (f"sundial:{kind}", status)
    assert set(body) == {"type", "title", "status", "detail", "remedy"}
    return body
