"""What an operator does on the page: judge an incident, answer the gate, roll back, switch a stream. Airflow is a small server
that does as the DAGs do."""

import contextlib
import dataclasses
import datetime as dt
import threading
from collections.abc import Iterator

import pytest
import uvicorn
from fastapi import FastAPI, Request
from playwright.sync_api import Page, expect

from contracts.users import Users
from tests.serving import world
from tests.serving.conftest import NASTY, served
from tests.serving.static.test_accessibility import serious
from tests.serving.test_incidents import of
from tests.support.waiting import until

AT = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)


class Airflow:
    """A run is queued, then running, then what `ends` is; a statement that succeeds is in the table."""

    def __init__(self, lake, feed):
        self.app, self.came, self.looks, self.ends, self._lake, self._feed = FastAPI(), [], 0, "success", lake, feed
        self.app.post("/auth/token")(lambda: {"access_token": "t"})
        self.app.post("/api/v2/dags/{dag}/dagRuns")(self.begin)
        self.app.get("/api/v2/dags/~/dagRuns/{run}/hitlDetails")(self.questions)
        self.app.patch("/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/approve/-1/hitlDetails")(self.change)
        self.app.patch("/api/v2/dags/{dag}")(self.change)
        self.app.get("/api/v2/dags/{dag}/dagRuns/{run}")(self.look)

    async def begin(self, request: Request, dag: str) -> dict:
        self.came.append((dag, (await request.json())["conf"]))
        self.looks = 0
        return {"dag_run_id": f"manual__{len(self.came)}", "state": "queued"}

    def questions(self, run: str) -> dict:
        asking = {"dag_id": f"nightly_baseline.{self._feed.name}", "task_id": "approve", "map_index": -1}
        return {"hitl_details": [{"task_instance": asking}] if run == "night-2" else []}

    async def change(self, request: Request, dag: str) -> dict:
        self.came.append((dag, await request.json()))
        self.looks = 2
        return {}

    async def look(self, dag: str, run: str) -> dict:
        self.looks += 1
        if self.looks == 2 and self.ends == "success" and dag.startswith("judge_incident"):
            self._keep(self.came[-1][1])
        return {"dag_run_id": run, "state": "running" if self.looks < 2 else self.ends}

    def _keep(self, conf: dict) -> None:
        said = {"By": f"{conf['user']}, by admin", "Reason": conf["reason"]}
        number = len(self.came)
        if conf["verdict"] == "take_back":
            world.say(self._lake, self._feed, number, "take_back", TakesBack=conf["statement"], **said)
        elif conf["verdict"] in ("acknowledge", "false"):
            world.say(self._lake, self._feed, number, conf["verdict"], IncidentId=conf["incident"], **said)
        else:
            world.say(self._lake, self._feed, number, "exclude", AT, ServiceName=conf["service"], **said)


@contextlib.contextmanager
def listening(app: FastAPI) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until("the server listens", lambda: server.started)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(15)


@pytest.fixture
def airflow(lake, feed):
    return Airflow(lake, feed)


@pytest.fixture
def site(offline, feed, lake, tmp_path, airflow):
    """The page of service a, which has a closed incident, beside another service with an open one; two versions of a baseline,
    and a refused candidate; and the tokens of an operator and of a viewer."""
    users, operator = Users({}).added("olga", "operator", AT, None)
    users, viewer = users.added("victor", "viewer", AT, None)
    (tmp_path / "users.json").write_text(users.text())
    world.promote(lake, feed, {"a": 10.0}, run_id="night-0", candidate_version=1)
    world.promote(lake, feed, {"a": 11.0}, run_id="night-1", candidate_version=2)
    world.gate_result(lake, feed, "night-2", False, [world.expectation(success=False)], AT)
    with listening(airflow.app) as address:
        access = {"users": tmp_path / "users.json", "airflow": address, "airflow_user": "admin", "airflow_password": "p"}
        with served(dataclasses.replace(offline, **access)) as (url, state):
            start = round(AT.timestamp() * 1000)
            state.incidents.put(feed.name, dataclasses.replace(of("a", start), state="closed", end=start + 600_000))
            state.incidents.put(feed.name, of(NASTY, start))
            yield f"{url}/?feed={feed.name}&service=a", operator, viewer


def log_in(page: Page, token: str) -> None:
    page.get_by_role("link", name="Log in").click()
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()


def test_an_operator_looks_after_an_incident_judges_it_and_takes_that_back(page, site, feed, airflow):
    url, operator, _ = site
    page.goto(url)
    expect(page.locator("#incidents > li")).to_have_count(2)
    expect(page.get_by_role("button", name="Judge")).to_have_count(0)
    page.get_by_label("Window").select_option("240")
    expect(page).to_have_url(f"{url}&minutes=240")
    log_in(page, operator)
    expect(page).to_have_url(f"{url}&minutes=240")
    expect(page.locator("header .login")).to_contain_text("olga (operator)")
    row = page.locator("#incidents > li").filter(has_text="img src")
    row.get_by_role("button", name="Judge").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(NASTY)
    assert serious(page) == []
    expect(dialog.get_by_label("I look after it")).to_be_checked()
    dialog.get_by_label("Reason").fill("on it")
    dialog.get_by_role("button", name="Keep it").click()
    expect(dialog).to_be_hidden(timeout=20_000)
    expect(row.locator(".verdict")).to_contain_text("Acknowledged, says olga, by admin")
    row.get_by_role("button", name="Judge").click()
    expect(dialog.get_by_label("I look after it")).to_have_count(0)
    dialog.get_by_label("Nobody looks after it any more").check()
    dialog.get_by_label("A false alarm").check()
    dialog.get_by_label("Reason").fill(NASTY)
    dialog.get_by_role("button", name="Keep it").click()
    expect(dialog).to_be_hidden(timeout=20_000)
    expect(row.locator(".verdict").last).to_contain_text("False alarm, says olga, by admin")
    incident = {"incident": f"{NASTY}@{round(AT.timestamp() * 1000)}", "user": "olga"}
    [(dag, first), (_, conf)] = airflow.came
    assert dag == f"judge_incident.{feed.name}"
    assert first == incident | {"verdict": "acknowledge", "reason": "on it"}
    assert conf == incident | {"verdict": "false", "reason": NASTY}
    row.get_by_role("button", name="Take back").click()
    expect(dialog.get_by_role("radio")).to_have_count(0)
    dialog.get_by_label("Reason").fill("it was one")
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden(timeout=20_000)
    expect(row.locator(".verdict")).to_have_count(1)
    assert airflow.came[2][1] == {"verdict": "take_back", "statement": 2, "reason": "it was one", "user": "olga"}
    assert page.title() != "owned"


def test_readings_are_excluded_by_their_span(page, site, feed, airflow):
    url, operator, _ = site
    page.goto(url)
    log_in(page, operator)
    page.locator("#incidents > li").filter(has_not_text="img src").get_by_role("button", name="Judge").click()
    page.get_by_label("Not normal").check()
    page.get_by_label("Reason").fill("load test")
    page.get_by_role("button", name="Keep it").click()
    expect(page.locator("#incidents .verdict")).to_contain_text("Left out of the normal, says olga, by admin", timeout=20_000)
    [(_, conf)] = airflow.came
    assert (conf["service"], conf["from"], conf["to"]) == ("a", "2026-07-01T12:00:00Z", "2026-07-01T12:10:00Z")


@pytest.mark.full
def test_what_airflow_could_not_do_is_said_with_the_way_to_its_log(page, site, airflow):
    url, operator, _ = site
    airflow.ends = "failed"
    page.goto(url)
    log_in(page, operator)
    page.get_by_role("button", name="Judge").first.click()
    page.get_by_label("Reason").fill("r")
    page.get_by_role("button", name="Keep it").click()
    said = page.locator("#act-said")
    expect(said).to_contain_text("Nothing was kept", timeout=20_000)
    assert said.get_by_role("link").get_attribute("href").endswith("/runs/manual__1")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_a_viewer_judges_nothing_and_a_wrong_token_is_named(page, site):
    url, _, viewer = site
    page.goto(url)
    log_in(page, "sundial_wrong")
    expect(page.locator("#problem")).to_contain_text("No user has this token")
    page.get_by_label("Token").fill(viewer)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("header .login")).to_contain_text("victor (viewer)")
    expect(page.locator("#incidents > li")).to_have_count(2)
    expect(page.get_by_role("button", name="Judge")).to_have_count(0)
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("link", name="Log in")).to_be_visible()


def reason(page: Page, text: str, button: str) -> None:
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill(text)
    dialog.get_by_role("button", name=button).click()
    expect(dialog).to_be_hidden(timeout=20_000)


def test_a_refused_candidate_is_approved(page, site, feed, airflow):
    url, operator, _ = site
    page.goto(url)
    expect(page.locator("#gate")).to_contain_text("refused")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    log_in(page, operator)
    page.get_by_role("button", name="Approve").click()
    reason(page, "a known change", "Approve")
    said = {"chosen_options": ["Approve"], "params_input": {"reason": "olga: a known change"}}
    assert airflow.came == [(f"nightly_baseline.{feed.name}", said)]


def test_an_earlier_version_is_put_in_force_again(page, site, feed, airflow):
    url, operator, _ = site
    page.goto(url)
    log_in(page, operator)
    expect(page.get_by_role("button", name="Roll back to")).to_have_count(1)
    page.get_by_role("button", name="Roll back to v0").click()
    reason(page, "v1 is too high", "Roll back")
    assert airflow.came == [(f"rollback_baseline.{feed.name}", {"version": 0, "reason": "v1 is too high", "user": "olga"})]


def test_a_stream_is_switched_on(page, site, feed, airflow):
    url, operator, _ = site
    page.goto(url)
    log_in(page, operator)
    page.get_by_role("button", name="Switch the scoring stream on").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Reason")).to_be_hidden()
    dialog.get_by_role("button", name="Switch on").click()
    expect(dialog).to_be_hidden()
    assert airflow.came == [(f"supervise_streams.{feed.name}", {"is_paused": False})]


def test_dead_letters_are_shown_by_reason_and_an_operator_replays_them(page, site, feed, airflow):
    url, operator, _ = site
    letter = {"feed": feed.name, "partition": 1, "offset": 42, "key": NASTY, "size": 300, "begins": "00ff"}
    letters = [
        letter | {"at": "2026-07-01T12:00:02Z", "reason": f"unknown schema id 8: {NASTY}", "key": None, "offset": None},
        letter | {"at": "2026-07-01T12:00:01Z", "reason": "negative reading -5"},
        letter | {"at": "2026-07-01T12:00:00Z", "reason": f"unknown schema id 17: {NASTY}"},
    ]
    connected(page, letters)
    page.goto(url)
    rows = page.locator("#letters > li")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text(f"unknown schema id 8: {NASTY}")
    expect(rows.nth(0).locator("strong").first).to_have_text("2")
    rows.nth(0).get_by_text("The newest").click()
    expect(rows.nth(0).locator(".facts")).to_have_text("Recordof an unknown placeKeynoneBytes300Begins with00 ff")
    rows.nth(1).get_by_text("The newest").click()
    expect(rows.nth(1).locator(".facts")).to_contain_text(f"partition 1, offset 42Key{NASTY}Bytes")
    expect(page.get_by_role("button", name="Replay")).to_have_count(0)
    log_in(page, operator)
    page.get_by_role("button", name="Replay what can be read now").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"goes back to the topic of {feed.name}")
    page.get_by_role("dialog").get_by_role("button", name="Replay").click()
    expect(page.get_by_role("dialog")).to_be_hidden(timeout=20_000)
    [(dag, conf)] = airflow.came
    assert (dag, conf) == ("replay_dead_letters", {"topic": feed.topic, "send": True, "reason": "", "user": "olga"})
    page.unroute_all(behavior="ignoreErrors")


def connected(page: Page, letters: list[dict]) -> None:
    """As if Kafka answered, with these dead letters."""

    def healthy(route):
        answer = route.fetch()
        body = answer.json()
        body["kafka"]["state"] = "connected"
        route.fulfill(response=answer, json=body)

    page.route("**/health", healthy)
    page.route("**/dead-letters", lambda route: route.fulfill(json=letters))
