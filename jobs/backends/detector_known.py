"""What the detector knew of a feed at the last midnight, for a query that begins to read the feed."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from jobs.backends import detector_states, tables
from jobs.backends.settings import Platform

COLUMNS = ("ServiceName", "State", "Open", "Heard", "Groups")  # as `detector_states.SCHEMA`


def at_midnight(platform: Platform, name: str, settings: Mapping[str, Any]) -> pa.Table | None:
    """COLUMNS of the newest states that were made by the feed's settings and the formulas of now; None where there are none.
    name: the feed's table. settings: see `contracts.incident_queries.settings_of`."""
    states, how = tables.detector_of(platform, name), detector_states.how(settings)
    dates = [date for date, digest in detector_states.digests(states).items() if digest.startswith(how)]
    if not dates:
        return None
    print(f"{name}: goes on with what detector/{name} knew at the beginning of {max(dates)}", flush=True)
    return detector_states.rows(states, max(dates)).select(COLUMNS)
