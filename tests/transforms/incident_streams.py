"""The query of incidents between batches, for one feed of half hours."""

import json
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from pyspark.sql.streaming.tws_tester import TwsTester

from contracts.feeds import load_feed
from contracts.incident_queries import declared_query
from jobs.backends import detector_known, detector_states
from jobs.transforms import incident_rows, incident_walk
from jobs.transforms.incident_groups import GroupRule
from jobs.transforms.incident_walk import Settings, followed_through, readings_of
from jobs.transforms.queries.incidents import _Incidents
from tests.transforms.half_hours import HALF_HOUR, SILENCE, Row

MONDAY = 1_748_822_400_000  # 2 June 2025


PAIR = {"services": 2, "within": 2}  # what is a group, in intervals


def of_feed(group: dict | None = None, retired: tuple[str, ...] = (), windows: tuple = (), **changed) -> dict:
    """What the stream needs to know of a feed of half hours."""
    feed = load_feed("service-use").model_copy(update={"interval_seconds": 1800, "timezone": "UTC", "holidays": None})
    [found] = declared_query([feed])["parameters"]["feeds"].values()
    rules = [each | {"silence": SILENCE, "needed": 1, "within": 1} | changed for each in found["rules"]]
    return found | {"rules": rules, "group": group, "retired": retired, "windows": windows}


def came(rows: list[Row], offset: int = 0, taken: int | None = None) -> pd.DataFrame:
    """Rows as the query gets them. taken: the half hour at which the broker took them; by default each when it was over."""
    service, number, value = zip(*rows, strict=True)
    at = MONDAY + np.array(number) * HALF_HOUR
    offsets = offset + np.arange(len(rows))
    broker = at + HALF_HOUR if taken is None else MONDAY + taken * HALF_HOUR
    return pd.DataFrame({"ServiceName": service, "At": at, "Wall": at, "Offset": offsets, "Value": value, "Came": broker})


@dataclass
class Known:
    """What a night knew of the feed; the meaning of its numbers can change."""

    of_feed: list[dict] = field(default_factory=list)
    meaning: str = "now"

    @property
    def how(self) -> dict[str, str]:
        return {"calls": self.meaning}

    def rows(self, table: str) -> list[dict]:
        assert table == "calls"
        return self.of_feed


class Stream:
    """The processor of one feed between batches; the machine's clock is moved by hand."""

    def __init__(self, known: Known | None = None, **changed):
        self.feeds = {"calls": Settings.of(of_feed(**changed))}
        self.tester = TwsTester(_Incidents(self.feeds, known or Known()), timeMode="ProcessingTime")
        self.events: list[dict] = []
        self._offset = 0

    def batch(self, *rows: Row, taken: int | None = None) -> None:
        self._keep(self.tester.testInPandas("calls", came(list(rows), self._offset, taken)))
        self._offset += len(rows)

    def clock(self, number: int, milliseconds: int = 0) -> None:
        """The machine's clock goes on to the begin of that half hour, and so many milliseconds more."""
        self._keep(self.tester.setProcessingTime(MONDAY + number * HALF_HOUR + milliseconds))

    def _keep(self, rows: pd.DataFrame | list) -> None:
        if len(rows):  # without any, the tester gives a list
            self.events += [{name: row[name] for name in incident_rows.COLUMNS} for row in rows.to_dict("records")]


def in_order(events: list[dict]) -> list[str]:
    return sorted(map(json.dumps, events))


def known_after(rows: list[Row], group: GroupRule | None = None) -> Known:
    """What a night knows after it has walked through the rows, as a query takes it up."""
    settings = replace(Settings.of(of_feed()), group=group)
    names = sorted({name for name, _, _ in rows})
    at = MONDAY + np.array([number for _, number, _ in rows]) * HALF_HOUR
    readings = readings_of(settings, names, [name for name, _, _ in rows], at, at, np.array([value for *_, value in rows]))
    known, _ = followed_through(settings, incident_walk.Known(), names, readings, int(at.max()))
    return Known([dict.fromkeys(detector_known.COLUMNS) | row for row in detector_states.of_known(known)])


def known_services(stream: Stream) -> list[str]:
    return sorted(name for (name,) in stream.tester.peekMapState("services", "calls"))
