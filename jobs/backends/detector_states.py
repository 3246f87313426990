"""detector/<feed>: what the detector knew of each service at the beginning of a local date, in the partition of that date."""

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from contracts.incident_queries import OF_DATES
from jobs.backends.tables import Table
from jobs.transforms import excluded, incident_groups, incident_rows, incident_walk, maintenance, public_holidays
from jobs.transforms.detector import silence
from jobs.transforms.detector.incident_life import Incident
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

OF_MEANING = ("interval", "timezone", "holidays")  # of a feed's settings

FORMULAS = (
    *sorted(Path(silence.__file__).parent.glob("*.py")),
    *(Path(each.__file__) for each in (excluded, incident_groups, incident_rows, incident_walk, maintenance, public_holidays)),
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
    found = table.dataset(version).to_table(columns=["Date", "Digest"]).group_by("Date").aggregate([("Digest", "max")])
    return dict(zip(found.column("Date").to_pylist(), found.column("Digest_max").to_pylist(), strict=True))


def how(settings: Mapping[str, Any]) -> str:
    """A digest of the formulas and of a feed's settings, without what concerns some dates alone; the digest of each state begins
    with it. settings: see `contracts.incident_queries.settings_of`."""
    return _digest({name: each for name, each in settings.items() if name not in OF_DATES})


def _digest(declared: Mapping[str, Any]) -> str:
    formulas = [hashlib.sha256(file.read_bytes()).hexdigest() for file in FORMULAS]
    return hashlib.sha256(json.dumps([declared, formulas]).encode()).hexdigest()[:16]


def meaning(settings: Mapping[str, Any]) -> str:
    """A digest of what the numbers of a state mean: the formulas, the interval and the local clock. Another rule judges the same
    numbers. settings: as for `how`."""
    return _digest({name: settings[name] for name in OF_MEANING})


def rows(table: Table, date: dt.date) -> pa.Table:
    """The states of that date, as SCHEMA."""
    return table.dataset(table.version()).to_table(filter=ds.field("Date") == date)


def read(table: Table, date: dt.date) -> Midnight:
    """The states of that date, which must be there."""
    found = rows(table, date).to_pylist()
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
    states = [{"Date": date, "Digest": midnight.digest, **row} for row in of_known(midnight.known)]
    table.write(iter(pa.Table.from_pylist(states, SCHEMA).to_batches()), [date], note, table.version())


def of_known(known: Known) -> list[dict[str, Any]]:
    """The states as rows, without Date and Digest."""
    services = [
        {
            "ServiceName": name,
            "State": each.state.tobytes(),
            "Open": json.dumps(asdict(each.open)) if each.open else None,
            "Heard": json.dumps(asdict(known.heard[name])),
        }
        for name, each in sorted(known.services.items())
    ]
    return [*services, {"Groups": json.dumps(asdict(known.groups))}]
