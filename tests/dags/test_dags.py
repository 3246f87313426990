"""What single DAGs are made of: the night, repairs, the streams' supervision."""

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from airflow.sdk.exceptions import AirflowFailException
from airflow.serialization.encoders import coerce_to_core_timetable
from airflow.task.priority_strategy import validate_and_load_priority_weight_strategy

from contracts.feeds import load_feed, load_feeds
from contracts.queries import load_queries
from dags.feed_dags import refuse_what_makes_no_sense
from dags.repair_history import late_ends

DAGS = Path(__file__).resolve().parents[2] / "dags"
FEEDS = sorted(load_feeds())
SUPERVISED = {f"supervise_queries.{query.application}" for query in load_queries().values()} | {
    f"supervise_streams.{feed}" for feed in FEEDS
}


@pytest.mark.parametrize("feed", FEEDS)
def test_the_night_is_a_chain_in_which_a_person_may_overrule_the_gate(bag, feed):
    dag = bag.dags[f"nightly_baseline.{feed}"]
    upstream = {task.task_id: (task.upstream_task_ids, task.trigger_rule.value) for task in dag.tasks}
    assert upstream == {
        "archive": (set(), "all_success"),
        "build_baseline": ({"archive"}, "all_success"),
        "check_baseline": ({"build_baseline"}, "all_success"),
        "approve": ({"check_baseline"}, "one_failed"),
        "promote_baseline": ({"check_baseline", "approve"}, "one_success"),
    }
    assert all(f"`{task}`" in dag.doc_md for task in upstream), "the runbook says what to do when it fails"
    assert (dag.timetable.expression, str(dag.timetable.timezone)) == ("0 1 * * *", load_feed(feed).timezone)


@pytest.mark.parametrize("feed", FEEDS)
def test_people_hear_of_a_night_that_is_late_refused_or_failed(bag, feed):
    dag = bag.dags[f"nightly_baseline.{feed}"]
    [deadline] = dag.deadline
    assert (deadline.reference.reference_name, deadline.interval) == ("DagRunQueuedAtDeadline", dt.timedelta(hours=5))
    assert deadline.callback.path == "dags.alerts.Alert"
    assert deadline.callback.kwargs["summary"].startswith(f"nightly_baseline.{feed}: no baseline was promoted within 5:00:00")
    assert f"nightly_baseline.{feed} has failed" in dag.on_failure_callback.summary
    assert f"The gate refused a baseline candidate of {feed}" in dag.get_task("approve").notifiers[0].summary


@pytest.mark.parametrize("kind", ["archive_history", "repair_history"])
def test_people_hear_of_an_archive_or_a_repair_that_failed(bag, kind):
    for feed in FEEDS:
        assert f"{kind}.{feed} has failed" in bag.dags[f"{kind}.{feed}"].on_failure_callback.summary


def test_what_a_person_waits_for_gets_a_slot_of_the_pool_before_the_nights(bag):
    weights = {
        kind: [
            validate_and_load_priority_weight_strategy(task.weight_rule).get_weight(SimpleNamespace(task=task))
            for feed in FEEDS
            for task in bag.dags[f"{kind}.{feed}"].tasks
        ]
        for kind in ("bootstrap_feed", "nightly_baseline")
    }
    assert min(weights["bootstrap_feed"]) > max(weights["nightly_baseline"])


@pytest.mark.full
def test_spark_jobs_share_a_pool_where_the_installation_names_one():
    code = "from dags.nightly_baseline import feed; from dags.feed_dags import archive; print(archive(feed).pool)"
    pools = {}
    for name in ("", "spark"):
        env = os.environ | ({"SUNDIAL_SPARK_POOL": name} if name else {})
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code], cwd=DAGS.parent, env=env, capture_output=True, text=True
        )
        pools[name] = ran.stdout.split()[-1]
    assert pools == {"": "default_pool", "spark": "spark"}


def test_links_lead_to_the_gates_report_and_the_page(bag, monkeypatch):
    monkeypatch.setenv("SUNDIAL_API", "http://127.0.0.1:18000")
    dag = bag.dags["nightly_baseline.road-traffic"]

    def links(task) -> dict[str, str]:
        ti = SimpleNamespace(run_id="manual__2026-11-21T01:00:00+00:00")
        return {link.name: link.get_link(task, ti_key=ti) for link in task.operator_extra_links}

    page = {"Dashboard": "http://127.0.0.1:18000/?feed=road-traffic"}
    report = {"Gate report": "http://127.0.0.1:18000/gate/road-traffic/manual__2026-11-21T01%3A00%3A00%2B00%3A00/"}
    spark = {"Spark": ""}  # before the driver has said its name
    assert links(dag.get_task("archive")) == page | spark
    assert links(dag.get_task("check_baseline")) == page | report | spark
    assert links(dag.get_task("approve")) == report


def test_a_night_is_a_partition_named_by_its_date_where_the_feed_lives(bag):
    dag = bag.dags["nightly_baseline.service-use"]
    one_in_the_morning = dt.datetime(2026, 11, 21, 6, tzinfo=dt.UTC)  # in New York
    timetable = coerce_to_core_timetable(dag.timetable)  # as the scheduler sees it
    days = {"earliest": dt.datetime(2026, 10, 31, tzinfo=dt.UTC), "latest": dt.datetime(2026, 11, 2, 12, tzinfo=dt.UTC)}
    nights = [(info.partition_key, info.partition_date.hour) for info in timetable.iter_partition_dagrun_infos(**days)]
    assert nights == [("2026-10-31", 5), ("2026-11-01", 6), ("2026-11-02", 6)], "on the first, one o'clock comes twice"
    assert dag.user_defined_filters["local_date"](one_in_the_morning) == "2026-11-21"
    assert dag.user_defined_filters["local_date"](one_in_the_morning - dt.timedelta(hours=2)) == "2026-11-20"


def test_what_makes_no_sense_fails_a_run_for_good_before_its_first_task(bag):
    dag = bag.dags["nightly_baseline.service-use"]
    assert {task._pre_execute_hook for task in dag.tasks} == {refuse_what_makes_no_sense}

    def begin(task="archive", conf=None, partition_key=None):
        run = SimpleNamespace(conf=conf, partition_key=partition_key)
        refuse_what_makes_no_sense({"dag": dag, "dag_run": run, "task": dag.get_task(task)})

    today = dt.datetime.now(load_feed("service-use").zone).date()
    for partition_key in (None, "2024-05-01", today.isoformat()):
        begin(conf={"full": True}, partition_key=partition_key)
    begin(task="approve", conf={"as_off": 1})  # said once is enough
    with pytest.raises(AirflowFailException, match=r"no such Params: as_off; nightly_baseline[.]service-use has full"):
        begin(conf={"full": True, "as_off": "2026-11-21"})
    for partition_key in ("2026-1-8", (today + dt.timedelta(days=1)).isoformat(), "9"):
        with pytest.raises(AirflowFailException, match=rf"partition key '{partition_key}' is no date .* up to {today}"):
            begin(partition_key=partition_key)


def test_a_judgement_passes_on_what_was_given_and_its_walk_follows(bag):
    [task] = bag.dags["judge_incident.road-traffic"].tasks
    params = {"verdict": "exclude", "incident": None, "service": "a {{ b }} '\"", "from": "2026-11-21", "to": "2026-11-22"}
    params |= {"statement": None, "reason": "--a drill"}
    run = SimpleNamespace(triggering_user_name="mara")
    context = {"params": params, "run_id": "r1", "dag_run": run, "dag": task.dag}
    said = [task.render_template(each, context) for each in task.application_args]
    assert [each for each in said if each] == [
        *("--feed", "road-traffic", "--run-id=r1", "--verdict=exclude", "--service=a {{ b }} '\"", "--from=2026-11-21"),
        *("--to=2026-11-22", "--by=mara", "--reason=--a drill"),
    ]
    context["params"] = params | {"user": "olga@example.org"}
    assert "--by=olga@example.org, by mara" in [task.render_template(each, context) for each in task.application_args]
    assert [outlet.name for outlet in task.outlets] == ["exclusions.road-traffic"]
    condition = repr(bag.dags["find_incidents.road-traffic"].timetable.asset_condition)
    assert condition.startswith("AssetAny")
    assert "exclusions.road-traffic" in condition
    assert "history.road-traffic" in condition


def test_late_readings_start_a_repair(bag):
    dag = bag.dags["repair_history.road-traffic"]
    assert "late.road-traffic" in repr(dag.timetable.asset_condition)
    assert [outlet.name for outlet in bag.dags["archive_history.road-traffic"].get_task("late").outlets] == ["late.road-traffic"]


def test_a_repair_takes_its_dates_from_the_form_or_from_what_was_late():
    class Event:
        def __init__(self, **extra):
            self.extra = extra

    events = {"late": [Event(**{"from": "2026-11-03", "to": "2026-11-05"}), Event(**{"from": "2026-11-01", "to": "2026-11-01"})]}
    assert late_ends(events, "from") == ["2026-11-03", "2026-11-01"]
    with pytest.raises(AirflowFailException, match="no dates to repair: trigger with Params `from` and `to`"):
        late_ends({}, "from")


@pytest.mark.parametrize("dag_id", sorted(SUPERVISED))
def test_streams_are_supervised_without_a_pause(bag, dag_id):
    assert type(bag.dags[dag_id].timetable).__name__ == "ContinuousTimetable"


def test_each_application_of_queries_has_a_stream_of_its_own(bag):
    [task] = bag.dags["supervise_queries.rides"].tasks
    assert (task.of, task.stream, task.feed) == ("rides", "queries", None)


@pytest.mark.parametrize("feed", FEEDS)
def test_each_feed_has_a_stream_of_its_own(bag, feed):
    [task] = bag.dags[f"supervise_streams.{feed}"].tasks
    assert (task.of, task.stream, task.feed) == (feed, "score", feed)
