"""detector/<feed>: what the detector knew of each service at the beginning of a local date, in the partition of that date."""

import datetime as dt
import json
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from jobs.backends.tables import Table
from jobs.transforms.detector.incidents import Incident
from jobs.transforms.detector.silence import Heard
from jobs.transforms.incident_groups import Groups
from jobs.transforms.incident_walk import Known, Service

SCHEMA = pa.schema(
    {
        "Date": pa.date32(),
        "ServiceName": pa.string(),  # null in the one row of the feed itself, whose Groups it has
        "State": pa.binary(),  # a row of `layout.packed`, float64
        "Open": pa.string(),  # the open incident as JSON; null if there is none
        "Heard": pa.string(),  # the newest reading as JSON
        "Groups": pa.string(),  # open incidents and groups as JSON: see `incident_groups.Groups`
        "Digest": pa.string(),  # of all that the state follows from
    }
)


@dataclass(frozen=True)
class Midnight:
    """What is known at the beginning of a date, and a digest of all that it follows from."""

    known: Known
    digest: str


def digests(table: Table) -> dict[dt.date, str]:
    """By date, the digest of its states."""
    version = table.version()
    if version < 0:
        return {}
    rows = table.dataset(version).to_table(columns=["Date", "Digest"]).group_by("Date").aggregate([("Digest", "max")])
    return dict(zip(rows.column("Date").to_pylist(), rows.column("Digest_max").to_pylist(), strict=True))


def read(table: Table, date: dt.date) -> Midnight:
    """The states of that date, which must be there."""
    found = table.dataset(table.version()).to_table(filter=ds.field("Date") == date).to_pylist()
    of_services = {row["ServiceName"]: row for row in found if row["ServiceName"] is not None}
    services = {
        name: Service(np.frombuffer(row["State"]), Incident(**json.loads(row["Open"])) if row["Open"] else None)
        for name, row in of_services.items()
    }
    heard = {name: Heard(**json.loads(row["Heard"])) for name, row in of_services.items()}
    [groups] = [Groups(**json.loads(row["Groups"])) for row in found if row["ServiceName"] is None]
    return Midnight(Known(services, heard, groups), found[0]["Digest"])


def write(table: Table, date: dt.date, midnight: Midnight, note: dict) -> None:
    """Makes these the states of that date, in one commit."""
    known = midnight.known
    rows = [
        {
            "ServiceName": name,
            "State": each.state.tobytes(),
            "Open": json.dumps(asdict(each.open)) if each.open else None,
            "Heard": json.dumps(asdict(known.heard[name])),
        }
        for name, each in sorted(known.services.items())
    ]
    rows.append({"Groups": json.dumps(asdict(known.groups))})
    states = pa.Table.from_pylist([{"Date": date, "Digest": midnight.digest, **row} for row in rows], SCHEMA)
    table.write(iter(states.to_batches()), [date], note, table.version())
