"""What operators may change."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Response
from fastapi.concurrency import run_in_threadpool

from contracts.users import User
from serving.access.callers import Operator
from serving.acts.models import ActInfo, Said
from serving.acts.through_airflow import Act
from serving.dependencies import INVALID, PROBLEM, REFUSED, CurrentState, DeclaredFeed, Responses
from serving.problems import ProblemError
from serving.state import State

router = APIRouter(tags=["acts"])
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
    act = await _begun(state, user, f"judge_incident.{feed.name}", said.conf())
    response.headers["Location"] = f"/api/acts/{act.dag}/{act.run}"
    return ActInfo.model_validate(asdict(act))


@router.get("/api/acts/{dag}/{run}", summary="How something that was asked for goes", responses=MAY_FAIL | INVALID)
async def act(
    dag: Annotated[str, Path(pattern=r"^[a-z_]{1,60}\.[a-z][a-z0-9-]{0,62}$")],
    run: Annotated[str, Path(pattern=r"^[A-Za-z0-9_.~:+-]{1,250}$")],
    user: Operator,
    state: CurrentState,
) -> ActInfo:
    return ActInfo.model_validate(asdict(await run_in_threadpool(state.acts.look, dag, run)))


async def _begun(state: State, user: User, dag: str, conf: dict[str, str | int]) -> Act:
    """The act is noted before it is begun: nothing is done that nobody can be asked about."""
    if wait := state.acting.wait(user.name):
        detail = f"{user.name} has changed too much within a minute."
        raise ProblemError(429, "too-often", "Wait before the next change", detail, f"Try again in {wait:.0f} seconds.")
    state.acting.count(user.name)
    state.audit.note(user, dag, {"conf": conf})
    return await run_in_threadpool(state.acts.begin, dag, conf, user.name)
