"""What operators may change."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Path, Response
from fastapi.concurrency import run_in_threadpool

from contracts.users import Identity
from serving.access.authentication import Operator
from serving.acts.models import ActInfo, Answer, Replay, Rollback, Said, Switch
from serving.acts.through_airflow import Act
from serving.dependencies import INVALID, PROBLEM, REFUSED, CurrentState, DeclaredApplication, DeclaredFeed, Responses
from serving.problems import ProblemError
from serving.state import State

T = TypeVar("T")
router = APIRouter(tags=["acts"])
RunId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.~:+-]{1,250}$", description="Of Airflow.")]
MAY_FAIL: Responses = {
    401: PROBLEM | {"description": "Nobody has logged in, or the token does not count."},
    403: PROBLEM | {"description": "Only operators may do it; or another site's page sent it."},
    404: PROBLEM | {"description": "No such feed, or Airflow does not know its DAG or the run."},
    429: PROBLEM | {"description": "The user does so too often."},
    502: PROBLEM | {"description": "Airflow refused it."},
    503: PROBLEM | {"description": "Airflow does not answer, or serving does not know one."},
}


@router.post(
    "/api/feeds/{feed}/statements",
    summary="Say something of an incident or of readings",
    status_code=202,
    responses=REFUSED | MAY_FAIL,
)
async def say(feed: DeclaredFeed, said: Said, user: Operator, state: CurrentState, response: Response) -> ActInfo:
    """Begins a run of `judge_incident.<feed>`, which keeps the statement with who made it, when and why."""
    return await _begun(state, user, f"judge_incident.{feed.name}", said.conf(), response)


@router.post(
    "/api/feeds/{feed}/baseline/rollback",
    summary="Put an earlier version of the baseline in force again",
    status_code=202,
    responses=REFUSED | MAY_FAIL,
)
async def roll_back(feed: DeclaredFeed, to: Rollback, user: Operator, state: CurrentState, response: Response) -> ActInfo:
    """Begins a run of `rollback_baseline.<feed>`."""
    return await _begun(state, user, f"rollback_baseline.{feed.name}", to.model_dump(), response)


@router.post(
    "/api/feeds/{feed}/gate-results/{run}/answer",
    summary="Approve or reject a candidate that the gate refused",
    status_code=202,
    responses=REFUSED
    | MAY_FAIL
    | {409: PROBLEM | {"description": "The run does not wait for an answer, or asked less than 15 seconds ago."}},
)
async def answer(
    feed: DeclaredFeed, run: RunId, said: Answer, user: Operator, state: CurrentState, response: Response
) -> ActInfo:
    """Answers the run, which then promotes the candidate, or fails."""
    about = {"feed": feed.name, "run": run, **said.model_dump()}
    asked = partial(state.acts.answer, feed.name, run, said.approve, said.reason, user.name)
    return _info(await _done(state, user, "answer", about, asked), response)


@router.post(
    "/api/feeds/{feed}/dead-letters/replay",
    summary="Send dead letters that can be read by now back to their topic",
    status_code=202,
    responses=REFUSED | MAY_FAIL,
)
async def replay(feed: DeclaredFeed, wanted: Replay, user: Operator, state: CurrentState, response: Response) -> ActInfo:
    """Begins a run of `replay_dead_letters`. A record comes back once, to all that read the topic."""
    conf: dict[str, str | int] = {"topic": feed.topic, "send": True, "reason": wanted.reason}
    return await _begun(state, user, "replay_dead_letters", conf, response)


@router.post(
    "/api/feeds/{feed}/stream", summary="Switch the feed's stream on or off", status_code=204, responses=REFUSED | MAY_FAIL
)
async def switch(feed: DeclaredFeed, wanted: Switch, user: Operator, state: CurrentState) -> Response:
    """As pausing and unpausing `supervise_streams.<feed>` does. What runs ends at the end of a batch."""
    return await _switched(state, user, f"supervise_streams.{feed.name}", wanted)


@router.post(
    "/api/applications/{application}/stream",
    summary="Switch an application of queries on or off",
    status_code=204,
    responses=MAY_FAIL | {404: PROBLEM | {"description": "No such application, or Airflow does not know its DAG."}} | INVALID,
)
async def switch_application(application: DeclaredApplication, wanted: Switch, user: Operator, state: CurrentState) -> Response:
    """As pausing and unpausing `supervise_queries.<application>` does. What runs ends between two batches."""
    return await _switched(state, user, f"supervise_queries.{application}", wanted)


@router.get("/api/acts/{dag}/{run}", summary="How something that was asked for goes", responses=MAY_FAIL | INVALID)
async def act(
    dag: Annotated[str, Path(pattern=r"^[a-z_]{1,60}(\.[a-z][a-z0-9-]{0,62})?$")],
    run: RunId,
    user: Operator,
    state: CurrentState,
) -> ActInfo:
    found = await run_in_threadpool(state.acts.look, dag, run)
    if found.state == "success":
        state.tables.lake.renew()  # who asked for it sees it at once
    return ActInfo.model_validate(asdict(found))


async def _begun(state: State, user: Identity, dag: str, conf: dict[str, str | int], response: Response) -> ActInfo:
    begun = await _done(state, user, dag, {"conf": conf}, partial(state.acts.begin, dag, conf, user.name))
    return _info(begun, response)


async def _switched(state: State, user: Identity, dag: str, wanted: Switch) -> Response:
    await _done(state, user, dag, wanted.model_dump(), partial(state.acts.switch, dag, wanted.on))
    return Response(status_code=204)


async def _done(state: State, user: Identity, act: str, about: dict[str, Any], work: Callable[[], T]) -> T:
    """What `work` returns. The audit log gets a line before, and one afterwards with what Airflow answered."""
    id_ = _note(state, user, act, about)
    try:
        found = await run_in_threadpool(work)
    except ProblemError as refusal:
        state.audit.note_outcome(id_, user, act, {"outcome": refusal.body["type"]})
        raise
    run = {"run": found.run, "state": found.state} if isinstance(found, Act) else {}
    state.audit.note_outcome(id_, user, act, {"outcome": "accepted", **run})
    return found


def _info(act: Act, response: Response) -> ActInfo:
    response.headers["Location"] = f"/api/acts/{act.dag}/{act.run}"
    return ActInfo.model_validate(asdict(act))


def _note(state: State, user: Identity, act: str, about: dict[str, Any]) -> str:
    """An act is noted before it is begun: nothing is done that nobody can be asked about."""
    if wait := state.acting.wait(user.name):
        detail = f"{user.name} has changed too much within a minute."
        raise ProblemError(429, "too-often", "Wait before the next change", detail, f"Try again in {wait:.0f} seconds.")
    state.acting.count(user.name)
    return state.audit.note(user, act, about)
