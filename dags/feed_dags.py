"""What the batch DAGs have in common (most exist once per declared feed), and the tasks from a candidate to its promotion."""

import datetime as dt
import re

from airflow.sdk import DAG, Param
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from contracts.feeds import Feed
from contracts.users import ANY_NAME
from dags.alerts import Alert
from dags.approval import REASON, CandidateApproval, approved_by, approved_candidate, reason
from dags.lake_notes import day_after_history, promoted, refusal
from dags.lineage import asset, table, topic
from dags.links import Dashboard, GateReport
from dags.spark_job import DEFAULT_POOL, Afterwards, SparkJob, spark_job

# As --option=value, so that no value can be taken for an option. Airflow admits only [A-Za-z0-9_.~:+-] in a run id.
RUN_ID = "--run-id={{ run_id }}"
# Who has triggered the run in Airflow; if that was a program on behalf of a user, who.
BY = "--by={{ params.get('user') ~ ', by ' if params.get('user') }}{{ dag_run.triggering_user_name or dag.dag_id }}"
USER = Param(
    None,
    type=["string", "null"],
    pattern=ANY_NAME,
    title="User",
    description="For programs that trigger the run: on whose behalf. Kept beside the name of the Airflow user.",
)
ANSWER_WITHIN = dt.timedelta(hours=12)
MINUTE = dt.timedelta(minutes=1)


def batch_dag(dag_id: str, zone: dt.tzinfo, doc_md: str, tags: list[str], **dag) -> DAG:
    """A DAG of jobs: one run at a time, tasks with retries, and the filter `local_date` for the date in that zone."""
    return DAG(
        dag_id=dag_id,
        start_date=dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
        catchup=False,
        max_active_runs=1,
        default_args={
            "owner": "sundial",
            "retries": 2,
            "retry_delay": dt.timedelta(seconds=30),
            # The further a run is, the sooner its next task gets a slot: one night's promotion goes before another's archiving.
            "weight_rule": "upstream",
            # A run that only a person starts goes before all nights: someone waits for it.
            "priority_weight": 100 if dag.get("schedule") is None else 1,
            "pre_execute": refuse_what_makes_no_sense,
        },
        user_defined_filters={"local_date": lambda at: at.astimezone(zone).date().isoformat()},
        tags=["sundial", *tags],
        doc_md=doc_md,
        **dag,
    )


def feed_dag(kind: str, feed: Feed, doc_md: str, tags: list[str], **dag) -> DAG:
    """The batch DAG `<kind>.<feed>`, in the feed's time zone."""
    of_approval = {"approved_by": approved_by, "approved_candidate": approved_candidate, "reason": reason}
    macros = of_approval | {"day_after_history": lambda: day_after_history(feed)}
    return batch_dag(f"{kind}.{feed.name}", feed.zone, doc_md, [kind, feed.name, *tags], user_defined_macros=macros, **dag)


def refuse_what_makes_no_sense(context) -> None:
    """Runs before a run's first task and refuses input that Airflow accepts: the run would do something else, or fail late.

    A run's conf may have any fields, so a misspelt Param would be ignored. A partition key may be any text.
    """
    if context["task"].upstream_task_ids:
        return
    run, dag = context["dag_run"], context["dag"]
    if unknown := sorted(set(run.conf or {}) - set(dag.params.keys())):
        raise AirflowFailException(f"no such Params: {', '.join(unknown)}; {dag.dag_id} has {', '.join(dag.params) or 'none'}")
    if run.partition_key is None:
        return
    today = dag.user_defined_filters["local_date"](dt.datetime.now(dt.UTC))
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", run.partition_key) or run.partition_key > today:
        raise AirflowFailException(f"partition key {run.partition_key!r} is no date (YYYY-MM-DD) up to {today}, the feed's today")


def told_on_failure(kind: str, feed: Feed) -> Alert:
    """For a run's failure callback."""
    return Alert(f"{kind}.{feed.name} has failed; the baseline in force stays. The task logs say why, the DAG's docs what to do.")


def promoted_or_skipped(feed: Feed) -> Afterwards:
    """Skips the task if the run promoted nothing, because its candidate is of an earlier night than the baseline in force."""

    def look(context) -> None:
        if not promoted(feed, context["run_id"]):
            raise AirflowSkipException("the baseline in force is as of a later night, so this candidate is not promoted")

    return look


def archive(feed: Feed) -> SparkJob:
    return spark_job(
        "archive",
        feed.name,
        RUN_ID,
        inlets=[topic(feed.topic)],
        outlets=[asset("history", feed), topic(feed.dead_letter_topic)],
        execution_timeout=120 * MINUTE,
    )


def build_check_promote(feed: Feed, *build_options: str) -> SparkJob:
    """The chain from history to the baseline in force; returns its first task.

    A candidate that the gate refuses makes `check_baseline` fail; only then `approve` asks a person. One success is enough for
    `promote_baseline`: the gate's or the person's. The job itself checks that against the gate's stored results.
    """
    history, candidate, baseline = (asset(name, feed) for name in ("history", "baseline_candidate", "baseline"))
    build = spark_job(
        "build_baseline",
        feed.name,
        RUN_ID,
        *build_options,
        inlets=[history],
        outlets=[candidate],
        execution_timeout=120 * MINUTE,
    )
    check = spark_job(
        "check_baseline",
        feed.name,
        RUN_ID,
        links=(GateReport(), Dashboard()),
        inlets=[candidate, history, baseline],
        outlets=[table("gate_results", "gate_results")],
        for_good=lambda context: refusal(feed, context["run_id"]) is not None,
        execution_timeout=60 * MINUTE,
    )
    approve = CandidateApproval(
        task_id="approve",
        feed=feed,
        params={"reason": REASON},
        notifiers=[
            Alert(
                f"The gate refused a baseline candidate of {feed.name}: approve or reject it in Airflow, under Required Actions."
            )
        ],
        response_timeout=ANSWER_WITHIN,
        trigger_rule="one_failed",
        retries=0,
    )
    promote = spark_job(
        "promote_baseline",
        feed.name,
        RUN_ID,
        BY,
        "{{ approved_by(ti, 'approve') }}",
        "{{ approved_candidate(ti, 'approve') }}",
        "{{ reason(ti, 'approve') }}",
        inlets=[candidate],
        outlets=[baseline],
        pool=DEFAULT_POOL,
        afterwards=promoted_or_skipped(feed),
        trigger_rule="one_success",
        execution_timeout=15 * MINUTE,
    )
    build >> check >> [approve, promote]
    approve >> promote
    return build
