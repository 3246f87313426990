"""What the detector knew at the last midnight, for the first batch of a query."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from jobs.backends import detector_states, tables
from jobs.backends.settings import Platform

COLUMNS = ("ServiceName", "State", "Open", "Heard", "Groups")  # as `detector_states.SCHEMA`


def at_midnight(session: SparkSession, platform: Platform, feeds: Mapping[str, Mapping[str, Any]]) -> DataFrame | None:
    """Feed and COLUMNS: of each feed the newest states that were made by its settings and the formulas of now. None: no feed has
    any. feeds: by table, see `contracts.incident_queries.settings_of`."""
    found = list(_newest(platform, feeds))
    return session.createDataFrame(pa.concat_tables(found)) if found else None


def _newest(platform: Platform, feeds: Mapping[str, Mapping[str, Any]]) -> Iterator[pa.Table]:
    for name, settings in feeds.items():
        states, how = tables.detector_of(platform, name), detector_states.how(settings)
        dates = [date for date, digest in detector_states.digests(states).items() if digest.startswith(how)]
        if dates:
            rows = detector_states.rows(states, max(dates)).select(COLUMNS)
            print(f"{name}: goes on with what detector/{name} knew at the beginning of {max(dates)}", flush=True)
            yield rows.add_column(0, "Feed", pa.array([name] * rows.num_rows))
