"""A person's decision on a candidate that the gate refused."""

import datetime as dt

from airflow.providers.standard.exceptions import HITLRejectException
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Param
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from contracts.feeds import Feed, load_feed
from dags.lake_notes import Refusal, refusal, superseded
from dags.links import GateReport, candidate, dashboard, gate_report

CANDIDATE = "candidate"  # XCom: the version that a person was asked about
REASON = Param(
    "",
    type="string",
    maxLength=500,
    title="Reason",
    description="Stored in the baseline's history if you approve, otherwise in the task's log.",
)


class CandidateApproval(ApprovalOperator):
    """Asks whether to promote a refused candidate nevertheless, and why. Skipped if the gate refused nothing.

    Needs the Param `reason` (REASON). It pushes the version of the candidate (CANDIDATE). If approved, it returns who approved
    and the reason (`responded_by_user`, `params_input`). If rejected, or not answered within `response_timeout`, it fails, and so
    does the run.
    """

    operator_extra_links = (GateReport(),)

    def __init__(self, *, feed: Feed, response_timeout: dt.timedelta, **task):
        subject = f"The gate refused a baseline candidate of {feed.name}. Promote it nevertheless?"
        super().__init__(subject=subject, fail_on_reject=True, response_timeout=response_timeout, **task)
        self.feed = feed.name

    def execute(self, context):
        feed = load_feed(self.feed)
        refused = refusal(feed, context["run_id"])
        if refused is None:
            raise AirflowSkipException("the gate refused nothing in this run")
        if newer := superseded(feed, refused):
            raise AirflowFailException(
                f"nothing to approve: the baseline in force is as of {newer}, and this candidate is of an earlier night"
            )
        context["ti"].xcom_push(key=CANDIDATE, value=refused.candidate_version)
        self.body = question(feed, context["run_id"], refused)
        return super().execute(context)

    def execute_complete(self, context, event):
        try:
            answer = super().execute_complete(context, event)
        except HITLRejectException as rejected:
            why = (event.get("params_input") or {}).get("reason", "").strip() or "no reason given"
            raise AirflowFailException(f"rejected by {event['responded_by_user']['name']}: {why}") from rejected
        if not (answer["params_input"] or {}).get("reason", "").strip():
            raise AirflowFailException("approved without a reason; clear this task to be asked again")
        return answer


def question(feed: Feed, run_id: str, refused: Refusal) -> str:
    """What a person needs to know to decide (Markdown)."""
    lines = [f"Candidate {refused.candidate_version} failed:", ""]
    for each in refused.expectations:
        lines.append(f"- **{each['notes']}** `{each['expectation']}`, observed {each['observed']}")
        lines += [f"  - `{row}`{_seen_at(feed, refused.as_of, row)}" for row in each["sample"]]
    lines += ["", f"What it would change: {candidate(feed.name, refused.candidate_version)}"]
    lines += ["", f"Data Docs: {gate_report(feed.name, run_id)}"]
    return "\n".join([*lines, "", "Until you approve, the baseline in force stays."])


def _seen_at(feed: Feed, as_of: dt.date, row: dict) -> str:
    """For a failing row of a service, a link to its chart on the newest day of that day type (Markdown)."""
    service = row.get("ServiceName")
    if not service:
        return ""
    kind = row.get("DayType")
    days = (as_of - dt.timedelta(days=back) for back in range(1, 29))
    day = next((day for day in days if kind is None or feed.calendar.day_type(day) == kind), as_of - dt.timedelta(days=1))
    noon = dt.datetime.combine(day, dt.time(12), feed.zone).astimezone(dt.UTC)
    return f" [chart]({dashboard(feed.name, service=service, at=noon.isoformat())})"


def approved_by(ti, task_id: str) -> str:
    """The option of promote_baseline that says who approved; empty if no approval was needed."""
    answer = ti.xcom_pull(task_ids=task_id)
    return f"--approved-by={answer['responded_by_user']['name']}" if answer else ""


def approved_candidate(ti, task_id: str) -> str:
    """The option of promote_baseline that says which candidate the person was asked about; empty if no approval was needed."""
    approved = ti.xcom_pull(task_ids=task_id)
    return f"--approved-candidate={ti.xcom_pull(task_ids=task_id, key=CANDIDATE)}" if approved else ""


def reason(ti, task_id: str) -> str:
    """The option of promote_baseline that says why; empty if no approval was needed."""
    answer = ti.xcom_pull(task_ids=task_id)
    return f"--reason={' '.join(answer['params_input']['reason'].split())}" if answer else ""
