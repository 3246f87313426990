"""The main job on real parts: a baseline through Airflow, supervised scoring, a candidate that is refused, approved and rolled
back, and the driver and everything else killed. Other nights are in test_nights.py, other outages in test_outages.py."""

import datetime as dt
import os
import re
import subprocess
import sys
from urllib.parse import quote

import pytest

from jobs.streams.driver import ALREADY_RUNNING
from stack.instance import ROOT
from supervision.files import StreamFolder
from tests.end_to_end.outages import PARTS, strike, strike_driver, survives
from tests.end_to_end.story import FEED, GARBAGE_EVERY, NIGHTLY, STREAM
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(3600)


def test_the_first_night_is_the_one_that_was_due_and_promotes_once(story):
    """What it promotes is held against the topic, slot by slot, when the story is primed."""
    run = story.api.call("GET", f"dags/{NIGHTLY}/dagRuns/{story.first_night}")
    assert run["run_type"] == "scheduled", "no second run beside that of the schedule"
    note = story.commits()[story.first]
    assert story.today() - dt.date.fromisoformat(note["as_of"]) <= dt.timedelta(days=1), "the night that was last due"
    assert (note["gate"], note["by"]) == (True, NIGHTLY)


def test_exactly_the_expected_anomalies_come_out(story):
    before = story.verifier.counts()
    story.play(rounds=60)
    story.all_judged()
    assert story.verifier.counts() - before == {"readings": 120, "garbage": -(-120 // GARBAGE_EVERY)}


@pytest.fixture(scope="module")
def refused(story):
    """A night whose candidate the gate refuses: on the last date like today everything was tenfold. The id of its run."""
    story.calm()
    story.correct(10)
    run, _ = story.refused()
    yield run
    if story.state_of(run) == "running":
        story.answer(run, "Reject", "the tests are over")


@pytest.fixture(scope="module")
def approved(story, refused) -> int:
    """The version that a person puts in force nevertheless."""
    story.answer(refused, "Approve", "the fleet was doubled")
    assert story.state_of(refused) == "success"
    return story.promoted(refused)


def test_a_refused_candidate_leaves_the_baseline_in_force_and_the_stream_scoring(story, refused):
    until("the question", lambda: story.tasks(refused)["approve"] == "awaiting_input", 300)
    assert story.tasks(refused)["promote_baseline"] is None
    assert refused not in [note["run_id"] for note in story.commits().values()]
    body = story.api.call("GET", f"dags/{NIGHTLY}/dagRuns/{refused}/taskInstances/approve/-1/hitlDetails")["body"]
    assert "failed:\n\n- **" in body
    assert f"/gate/{FEED.name}/{quote(refused, safe='')}/" in body
    (version,) = re.findall(r"^Candidate (\d+) failed", body, re.MULTILINE)
    assert f"{story.instance.api}/baselines?feed={FEED.name}&candidate={version}\n" in body
    in_force = story.stream().heartbeat["baseline_version"]
    assert story.verifier.baseline(in_force) == story.verifier.baseline(story.first)
    story.play(rounds=20)
    story.all_judged()


def test_a_person_approves_what_the_gate_refused(story, approved):
    note = story.commits()[approved]
    assert (note["gate"], note["by"], note["reason"]) == (False, "admin", "the fleet was doubled")
    story.check_content(approved)
    story.sees(approved)
    story.play(rounds=20)
    story.all_judged()


def test_a_rollback_reaches_the_running_stream(story, approved):
    driver = story.stream().pid
    version = story.roll_back(story.first, "a holiday was missing")
    note = story.commits()[version]
    assert (note["rolled_back_to"], note["by"], note["reason"]) == (story.first, "admin", "a holiday was missing")
    first, other, now = (story.verifier.baseline(each) for each in (story.first, approved, version))
    assert now == first
    assert other != first, "a row of the one can't be taken for a row of the other"
    story.play(rounds=20)
    story.all_judged()
    assert story.stream().pid == driver


def test_the_navigation_of_airflow_has_a_link_to_the_dashboard(story):
    plugins = story.api.call("GET", "plugins")["plugins"]
    links = [view for plugin in plugins if plugin["name"] == "sundial" for view in plugin["external_views"]]
    assert [(link["name"], link["href"], link["url_route"]) for link in links] == [("Sundial", f"{story.instance.api}/", None)]


def test_a_second_driver_ends_at_the_held_lock_and_touches_nothing(story):
    folder = StreamFolder(story.instance.streams / STREAM)
    files = [folder.driver_file, folder.launch_lock, folder.supervisor_file]
    kept, driver = [file.read_bytes() for file in files], story.stream().pid
    command = [sys.executable, "-m", "jobs.score", "--feed", FEED.name]
    second = subprocess.run(command, cwd=ROOT, env=os.environ | story.instance.environment(), capture_output=True, text=True)
    assert (second.returncode, second.stdout) == (ALREADY_RUNNING, "")
    assert f"{STREAM} runs already, in process {driver}" in second.stderr
    assert [file.read_bytes() for file in files] == kept
    assert (story.stream().state, story.stream().pid) == ("running", driver)
    story.play(rounds=5)
    story.all_judged()


@pytest.mark.kill
def test_the_driver_is_killed(story):
    killed = story.stream().pid
    survives(story, lambda: strike_driver(story))
    assert story.stream().pid != killed


@pytest.mark.kill
def test_all_are_killed_at_once(story):
    killed = story.stream().pid

    def kill() -> None:
        strike_driver(story)
        strike(story, *PARTS)

    survives(story, kill)
    assert story.stream().pid != killed
