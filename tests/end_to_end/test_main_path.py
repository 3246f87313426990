"""The main job on real parts: history, nightly baseline through Airflow, supervised scoring, promotion and rollback under way.

The tests of this file are one story on one stack and run in order; test_outages.py goes on with it.
"""

import datetime as dt
import threading
from urllib.parse import quote

import deltalake
import pytest

from stack.airflow_api import ENDED
from stack.errors import StackError
from tests.end_to_end.story import FEED, HISTORY_DAYS, NIGHTLY, SERVICES, await_
from tests.end_to_end.verifier import baseline_of_topic

pytestmark = pytest.mark.timeout(900)


def test_history_becomes_a_promoted_baseline_through_airflow(story):
    story.load_history()
    story.api.unpause(NIGHTLY)
    story.api.watch(NIGHTLY, story.api.begin(NIGHTLY, {}), print, 600)
    table = deltalake.DeltaTable(str(story.home.lake / "baseline" / FEED.table))
    as_of = dt.date.fromisoformat(story.promotions()[0]["as_of"])
    assert story.now.astimezone(FEED.zone).date() - as_of <= dt.timedelta(days=1), "the night that was last due"
    expected = baseline_of_topic(story.home.kafka, as_of, story.verifier.holidays)
    rows = {(row["ServiceName"], row["DayType"]): row for row in table.to_pyarrow_table().to_pylist()}
    assert rows.keys() == expected.keys()
    assert len(rows) == 7 * len(SERVICES)
    for key, (averages, samples, spreads) in expected.items():
        assert rows[key]["Last4Avg"] == averages
        assert rows[key]["Samples"] == samples
        assert rows[key]["Spread"] == [spread if spread is None else pytest.approx(spread, rel=1e-12) for spread in spreads]


def test_exactly_the_expected_anomalies_come_out(story):
    story.api.unpause("supervise_streams")
    await_("the stream", lambda: story.stream().state == "running", 180)
    story.play(rounds=60)
    story.all_judged()
    assert story.verifier.counts() == {"readings": 120, "garbage": 18}


def test_a_refused_candidate_leaves_the_baseline_in_force_and_the_stream_scoring(story):
    early = (story.now - dt.timedelta(days=HISTORY_DAYS - 3)).date().isoformat()  # three days of history: most day types missing
    with pytest.raises(StackError, match="gate refused candidate") as refused:
        story.nightly(as_of=early)
    assert "expect_column_unique_value_count_to_be_between(column=DayType" in str(refused.value)
    assert story.stream().heartbeat["baseline_version"] == 0
    story.play(rounds=20)
    story.all_judged()
    run = story.newest_run(NIGHTLY)
    await_("the end of the run", lambda: story.api.call("GET", f"dags/{NIGHTLY}/dagRuns/{run}")["state"] in ENDED, 120)
    tasks = story.api.call("GET", f"dags/{NIGHTLY}/dagRuns/{run}/taskInstances")["task_instances"]
    states = {task["task_id"]: task["state"] for task in tasks}
    assert (states["approve"], states["promote_baseline"]) == ("failed", "upstream_failed"), "too old to be approved"
    assert len(story.promotions()) == 1


def test_a_candidate_of_an_earlier_night_stays_one_and_no_green_task_says_otherwise(story):
    run = story.nightly(as_of=(story.now - dt.timedelta(days=4)).date().isoformat())
    task = story.api.call("GET", f"dags/{NIGHTLY}/dagRuns/{run}/taskInstances/promote_baseline")
    assert task["state"] == "skipped"
    assert len(story.promotions()) == 1


def test_a_promotion_reaches_the_running_stream_without_losing_a_reading(story):
    driver = story.stream().pid
    playing = threading.Thread(target=story.nightly)
    playing.start()
    while playing.is_alive():
        story.play(rounds=10, pause=0.1)
    playing.join()
    await_("the new baseline", lambda: story.stream().heartbeat["baseline_version"] == 1, 30)
    await_("the stream", lambda: story.stream().state == "running", 60)
    story.play(rounds=20)
    story.all_judged()
    assert story.stream().pid == driver


def test_a_rollback_reaches_the_running_stream(story):
    driver, dag = story.stream().pid, f"rollback_baseline.{FEED.name}"
    story.api.unpause(dag)
    story.trigger(dag, version=0, reason="a holiday was missing")
    newest = story.promotions()[0]
    assert (newest["rolled_back_to"], newest["by"], newest["reason"]) == (0, "admin", "a holiday was missing")
    await_("the rolled back baseline", lambda: story.stream().heartbeat["baseline_version"] == 2, 30)
    await_("the stream", lambda: story.stream().state == "running", 60)
    story.play(rounds=20)
    story.all_judged()
    assert story.stream().pid == driver


def refused(story) -> str:
    """Yesterday, everything was otherwise than ever before: the id of a run whose candidate the gate refuses."""
    with pytest.raises(StackError, match="gate refused candidate"):
        story.nightly(as_of=str(story.now.astimezone(FEED.zone).date()))
    return story.newest_run(NIGHTLY)


def test_a_person_rejects_what_the_gate_refused(story):
    story.load_a_day_that_is_otherwise()
    run, before = refused(story), story.promotions()
    story.answer(NIGHTLY, run, "Reject", "")
    body = story.api.call("GET", f"dags/{NIGHTLY}/dagRuns/{run}/taskInstances/approve/-1/hitlDetails")["body"]
    assert "failed:\n\n- **" in body
    assert f"/gate/{FEED.name}/{quote(run, safe='')}/" in body
    assert story.api.call("GET", f"dags/{NIGHTLY}/dagRuns/{run}")["state"] == "failed"
    assert story.promotions() == before


def test_a_person_approves_what_the_gate_refused(story):
    run = refused(story)
    story.answer(NIGHTLY, run, "Approve", "the fleet was doubled")
    assert story.api.call("GET", f"dags/{NIGHTLY}/dagRuns/{run}")["state"] == "success"
    newest = story.promotions()[0]
    assert (newest["gate"], newest["by"], newest["reason"]) == (False, "admin", "the fleet was doubled")
