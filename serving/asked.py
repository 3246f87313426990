"""What a request asks for: every identifier is checked against what is declared or known before it is used."""

from typing import Annotated

from fastapi import Depends, Query, Request

from contracts.feeds import Feed
from serving import models
from serving.problems import ProblemError
from serving.state import State

PROBLEM = {"model": models.Problem, "content": {"application/problem+json": {}}}
NOT_FOUND = {404: PROBLEM | {"description": "No such feed or service."}}


def the_state(request: Request) -> State:
    return request.app.state.sundial


Now = Annotated[State, Depends(the_state)]


def the_feed(feed: str, state: Now) -> Feed:
    """The declared feed of that name."""
    if feed not in state.feeds:
        known = ", ".join(state.feeds)
        remedy = f"Ask for one of: {known}. A feed is declared by a file under schemas/feeds/."
        raise ProblemError(404, "unknown-feed", "No such feed", f"No feed {feed[:80]!r} is declared.", remedy)
    return state.feeds[feed]


Declared = Annotated[Feed, Depends(the_feed)]
Count = Annotated[int, Query(ge=1, le=500, description="At most so many.")]


def known_service(state: State, feed: Feed, service: str) -> str:
    """The service, if live readings or the baseline in force know it."""
    if service not in state.services(feed):
        detail = f"Feed {feed.name} knows no service {service[:80]!r}."
        remedy = (
            f"GET /api/feeds/{feed.name}/services lists the known ones; a service is known once it was scored or has a baseline."
        )
        raise ProblemError(404, "unknown-service", "No such service", detail, remedy)
    return service
