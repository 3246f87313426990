"""What the routes depend on: the state, and the feed and service of a request, checked against what is declared or known."""

from typing import Annotated, Any

from fastapi import Depends, Query, Request

from contracts.feeds import Feed
from serving import models
from serving.problems import ProblemError
from serving.state import State

Responses = dict[int | str, dict[str, Any]]
PROBLEM: dict[str, Any] = {
    "model": models.Problem,
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
OF_EVERY_PATH: Responses = {
    400: PROBLEM | {"description": "The request's host name is not one of SUNDIAL_API_HOSTS."},
    500: PROBLEM | {"description": "Serving itself is wrong; its log says why."},
}
LOGIN_NEEDED: Responses = {
    401: PROBLEM | {"description": "Nobody has logged in, from elsewhere than this machine; or the token does not count."},
}
INVALID: Responses = {422: PROBLEM | {"description": "A parameter is not valid."}}
REFUSED: Responses = {404: PROBLEM | {"description": "No such feed or service."}, **INVALID}
NO_LAKE: Responses = {503: PROBLEM | {"description": "A table of the lake cannot be read."}}


async def current_state(request: Request) -> State:
    return request.app.state.sundial


CurrentState = Annotated[State, Depends(current_state)]


async def declared_feed(feed: str, state: CurrentState) -> Feed:
    return declared(feed, state)


def declared(feed: str, state: State) -> Feed:
    """The declared feed of that name."""
    feeds = state.feeds
    if feed not in feeds:
        known = ", ".join(feeds)
        remedy = f"Ask for one of: {known}. A feed is declared by a file under schemas/feeds/."
        raise ProblemError(404, "unknown-feed", "No such feed", f"No feed {feed[:80]!r} is declared.", remedy)
    return feeds[feed]


DeclaredFeed = Annotated[Feed, Depends(declared_feed)]


def declared_application(application: str, state: CurrentState) -> str:
    """The name of an application that a declared query names."""
    known = sorted({each.application for each in state.queries.look().values()})
    if application not in known:
        remedy = f"Ask for one of: {', '.join(known) or 'none'}. A query under schemas/queries/ names its application."
        detail = f"No query of an application {application[:80]!r} is declared."
        raise ProblemError(404, "unknown-application", "No such application", detail, remedy)
    return application


DeclaredApplication = Annotated[str, Depends(declared_application)]
Limit = Annotated[int, Query(ge=1, le=500, description="At most so many.")]


def known_service(state: State, feed: Feed, service: str) -> str:
    """The service, if live readings, history, the baseline in force or an open incident name it."""
    if not state.knows(feed, service):
        detail = f"Feed {feed.name} knows no service {service[:80]!r}."
        known = "a service is known once it was scored or archived, or has a baseline or an open incident."
        remedy = f"GET /api/feeds/{feed.name}/services lists the known ones; {known}"
        raise ProblemError(404, "unknown-service", "No such service", detail, remedy)
    return service
