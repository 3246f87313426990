"""Nights of other kinds than those of test_main_path.py. Each begins with the first night's baseline in force."""

import datetime as dt
import threading

import pytest

from stack.parts.dag_run import ENDED
from tests.end_to_end.story import HISTORY_DAYS
from tests.support.waiting import until

pytestmark = [pytest.mark.timeout(3600), pytest.mark.full]


def test_a_promotion_reaches_the_running_stream_without_losing_a_reading(story):
    story.calm()
    story.correct(2, hours=6)
    driver, runs = story.stream().pid, []
    night = threading.Thread(target=lambda: runs.append(story.nightly()))
    night.start()
    while night.is_alive():
        story.play(rounds=10, pause=0.1)
    night.join()
    [run] = runs
    version = story.promoted(run)
    story.sees(version)
    assert story.verifier.baseline(version) != story.verifier.baseline(story.first)
    story.play(rounds=20)
    story.all_judged()
    story.check_content(version)
    assert story.stream().pid == driver


def test_a_candidate_of_an_earlier_night_that_is_refused_can_not_be_approved(story):
    story.calm()
    before, early = story.commits(), story.today() - dt.timedelta(days=HISTORY_DAYS - 3)  # three days of history
    run, refused = story.refused(as_of=early)
    assert "expect_column_unique_value_count_to_be_between(column=DayType" in str(refused)
    until("the end of the run", lambda: story.state_of(run) in ENDED, 300)
    tasks = story.tasks(run)
    assert (tasks["approve"], tasks["promote_baseline"]) == ("failed", "upstream_failed"), "too old to be approved"
    assert story.commits() == before
    story.play(rounds=20)
    story.all_judged()


def test_a_candidate_of_an_earlier_night_stays_one_and_no_green_task_says_otherwise(story):
    story.calm()
    before = story.commits()
    run = story.nightly(as_of=story.today() - dt.timedelta(days=4))
    assert story.tasks(run)["promote_baseline"] == "skipped"
    assert story.commits() == before


def test_a_person_rejects_what_the_gate_refused(story):
    story.calm()
    before = story.commits()
    story.correct(10)
    run, _ = story.refused()
    story.answer(run, "Reject", "")
    assert story.state_of(run) == "failed"
    assert story.commits() == before
