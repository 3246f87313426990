"""What is read of an app that follows live topics."""

import httpx

from tests.serving.conftest import Served, readings
from tests.support.waiting import until


def values(client: httpx.Client) -> list[float]:
    """The readings of the service a in the last hour."""
    return list(readings(client.get("/services/a/series?minutes=60").json()).values())


def caught_up(serving: Served, records: int) -> None:
    live = serving.state.live.status
    until(f"{records} records are read", lambda: live.records == records and live.caught_up)
