"""What every way to log in checks first."""

import math

from fastapi import Request

from serving.access.authentication import same_site
from serving.problems import ProblemError
from serving.state import State


def own_page(request: Request) -> None:
    """Another site must not log a browser in or out."""
    if (request.headers.get("sec-fetch-site") or request.headers.get("origin")) and not same_site(request):
        detail = "The request comes from a page that is not Sundial's."
        raise ProblemError(403, "other-site", "Another site sent this", detail, "Log in on Sundial's own page.")


def not_too_often(request: Request, state: State) -> str:
    """The address that the request comes from. Raises ProblemError where too many logins from it have failed."""
    address = request.client.host if request.client else ""
    if wait := state.failed_logins.wait(address):
        detail = f"Logins from {address or 'there'} failed too often."
        raise ProblemError(429, "too-often", "Wait before the next try", detail, f"Try again in {wait:.0f} seconds.")
    return address


def refused(state: State, address: str, why: str) -> None:
    """Counts a login that has failed, and notes it in the audit log; also that its address is blocked, if it is from now on."""
    state.failed_logins.count(address)
    state.audit.note(None, "login refused", {"address": address, "outcome": why})
    if wait := state.failed_logins.wait(address):  # noted here, not at each attempt that follows: these could fill the disk
        state.audit.note(None, "logins blocked", {"address": address, "seconds": math.ceil(wait)})
