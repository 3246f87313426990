"""detector/<feed>: what the detector knew of each service at the beginning of a local date, in the partition of that date."""

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from jobs.backends.tables import Table
from jobs.transforms.detector.incidents import Incident
from jobs.transforms.detector.silence import Heard
from jobs.transforms.incident_walk import Service

SCHEMA = pa.schema(
    {
        "Date": pa.date32(),
        "ServiceName": pa.string(),
        "State": pa.binary(),  # a row of `layout.packed`, float64
        "Open": pa.string(),  # the open incident as JSON; null if there is none
        "Heard": pa.string(),  # the newest reading as JSON
        "Digest": pa.string(),  # of all that the state follows from
    }
)


@dataclass(frozen=True)
class Known:
    """What is known of a feed's services, and a digest of all that it follows from."""

    services: Mapping[str, Service]
    heard: Mapping[str, Heard]
    digest: str


NOTHING = Known({}, {}, "")


def digests(table: Table) -> dict[dt.date, str]:
    """By date, the digest of its states."""
    version = table.version()
    if version < 0:
        return {}
    rows = table.dataset(version).to_table(columns=["Date", "Digest"]).group_by("Date").aggregate([("Digest", "max")])
    return dict(zip(rows.column("Date").to_pylist(), rows.column("Digest_max").to_pylist(), strict=True))


def read(table: Table, date: dt.date) -> Known:
    """The states of that date; NOTHING if there are none."""
    found = table.dataset(table.version()).to_table(filter=ds.field("Date") == date).to_pylist()
    services = {
        row["ServiceName"]: Service(np.frombuffer(row["State"]), Incident(**json.loads(row["Open"])) if row["Open"] else None)
        for row in found
    }
    heard = {row["ServiceName"]: Heard(**json.loads(row["Heard"])) for row in found}
    return Known(services, heard, found[0]["Digest"]) if found else NOTHING


def write(table: Table, date: dt.date, known: Known, note: dict) -> None:
    """Makes these the states of that date, in one commit."""
    rows = [
        {
            "Date": date,
            "ServiceName": name,
            "State": each.state.tobytes(),
            "Open": json.dumps(asdict(each.open)) if each.open else None,
            "Heard": json.dumps(asdict(known.heard[name])),
            "Digest": known.digest,
        }
        for name, each in sorted(known.services.items())
    ]
    table.write(iter(pa.Table.from_pylist(rows, SCHEMA).to_batches()), [date], note, table.version())
