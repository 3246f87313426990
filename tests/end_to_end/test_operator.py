"""What an operator does on the pages, with a real Airflow behind serving: judge an incident, answer the gate, switch a stream."""

import datetime as dt

import deltalake
import pytest
from playwright.sync_api import Page, expect

from contracts.feeds import load_feed
from contracts.users import Users
from stack.instance import Instance
from stack.parts import airflow, streams
from stack.parts.airflow_api import AirflowApi
from stack.parts.streams import Stream
from tests.end_to_end.story import FEED
from tests.serving import derived
from tests.serving.conftest import CHROMIUM, browser, page, screen  # noqa: F401
from tests.serving.static.operator.dialogs import log_in, reason
from tests.support.waiting import until

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.full,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]
OTHER = load_feed("web-errors")  # of which no other test on this stack has a stream or an incident
RUN_WITHIN = 600  # seconds until Airflow has done it; generous, as everything is slow beside other work

# Clicks the dialog's button if it can be clicked: whether the dialog was open, and what it said.
SEND = """() => {
  const [dialog, send, said] = ["act", "act-send", "act-said"].map((id) => document.getElementById(id));
  const seen = [dialog.open, said.textContent];
  if (dialog.open && !send.disabled) send.click();
  return seen;
}"""


def token_of(instance: Instance, name: str) -> str:
    """Of an operator, who can log in from now on."""
    users, token = Users.read(instance.users).added(name, "operator", dt.datetime.now(dt.UTC), None)
    instance.users.write_text(users.text())
    return token


def test_an_incident_is_judged_and_the_verdict_is_in_the_table_and_on_the_page(platform_stack, page):  # noqa: F811
    instance = platform_stack
    topics = derived.Topics(instance.kafka, instance.registry, OTHER)
    start = dt.datetime.now(dt.UTC).replace(second=0, microsecond=0) - dt.timedelta(minutes=10)
    topics.send("incident", [incident := derived.incident("shuttle", start)])
    page.goto(f"{instance.api}/incidents?feed={OTHER.name}")
    log_in(page, token_of(instance, "ines"))
    row = page.locator("#incidents > li")
    expect(row).to_contain_text("shuttle", timeout=60_000)
    row.get_by_role("button", name="Judge").click()
    reason(page, "on it", "Keep it", within=RUN_WITHIN)
    expect(row.locator(".verdict")).to_contain_text(f"Acknowledged, says ines, by {airflow.USER}", timeout=60_000)
    row.get_by_role("button", name="Judge").click()
    page.get_by_label("A false alarm").check()
    reason(page, "a load test", "Keep it", within=RUN_WITHIN)
    expect(row.locator(".verdict")).to_contain_text([f"False alarm, says ines, by {airflow.USER}"], timeout=60_000)
    expect(page.locator("#headline")).to_have_text("No incident is open")
    table = deltalake.DeltaTable(str(instance.lake / "exclusions" / OTHER.table)).to_pyarrow_table().sort_by("Id").to_pylist()
    assert [(each["Kind"], each["IncidentId"], each["By"], each["Reason"]) for each in table] == [
        (kind, incident["Id"], f"ines, by {airflow.USER}", why)
        for kind, why in (("acknowledge", "on it"), ("false", "a load test"))
    ]
    AirflowApi(instance).pause(f"judge_incident.{OTHER.name}")


def test_a_candidate_that_the_gate_refused_is_approved_as_soon_as_the_page_offers_it(story, page):  # noqa: F811
    story.calm()
    page.goto(f"{story.instance.api}/baselines?feed={FEED.name}")
    log_in(page, token_of(story.instance, "petra"))
    story.correct(10)
    run, _ = story.refused()
    try:
        page.reload()
        said = answered(page, "Approve", "the fleet was doubled")
    finally:
        if story.state_of(run) == "running":
            story.answer(run, "Reject", "the test has failed")
    version = story.promoted(run)
    newest = page.locator("#history > li").first
    why = f"Approved by {airflow.USER} although the gate refused: petra: the fleet was doubled"
    expect(newest.locator(".how")).to_have_text(why, timeout=60_000)
    expect(newest).to_contain_text(f"v{version}")
    expect(newest.locator(".pill").first).to_have_text("in force")
    assert any("comes so early" in each for each in said), said
    story.check_content(version)
    story.sees(version)
    story.play(rounds=20)
    story.all_judged()


def answered(page: Page, button: str, why: str) -> list[str]:  # noqa: F811
    """As one who can't wait: sends again until the answer is taken and the run has ended; what the page said in between."""
    page.get_by_role("button", name=button).click()
    page.get_by_role("dialog").get_by_label("Reason").fill(why)
    said: list[str] = []

    def closed() -> bool:
        is_open, text = page.evaluate(SEND)
        if text not in said:
            said.append(text)
        assert "has failed" not in text, said
        return not is_open

    until("the run has ended", closed, RUN_WITHIN, lambda: said)
    return said


def test_a_stream_is_switched_on_and_off_and_the_page_shows_that_it_runs(platform_stack, page):  # noqa: F811
    instance, stream = platform_stack, Stream(OTHER.name, "score")
    page.goto(f"{instance.api}/streams")
    log_in(page, token_of(instance, "sofia"))
    row = page.locator("#streams > li").filter(has=page.get_by_role("heading", name=OTHER.name, exact=True))
    switched(page, row, "on")
    expect(row.locator(".state")).to_contain_text("Runs since", timeout=RUN_WITHIN * 1000)
    assert stream.status(instance).state == "running"
    switched(page, row, "off")
    expect(row.locator(".state")).to_contain_text("Switched off", timeout=RUN_WITHIN * 1000)
    until("it has stopped", lambda: stream.state(instance) == "stopped", streams.STOP_WITHIN)


def switched(page: Page, row, how: str) -> None:  # noqa: F811
    row.get_by_role("button", name=f"Switch {how} {OTHER.name}").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name=f"Switch {how}").click()
    expect(dialog).to_be_hidden(timeout=60_000)
