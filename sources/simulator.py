"""A fleet of services, simulated: each day of each service follows from the seed alone, so history and live are of one piece."""

import datetime as dt
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from contracts.feeds import SECONDS_PER_DAY, Feed
from sources.readings import batch, between
from sources.services import Service
from sources.simulated_incidents import Incident, IncidentError
from sources.wall_clock import first_pass, to_wall

EPOCH = dt.date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class Simulation:
    """A fleet that reports to a feed. `incidents` are applied to its normal readings; readings outside them stay as they were."""

    feed: Feed
    services: Sequence[str]
    seed: int = 0
    incidents: Sequence[Incident] = ()

    def __post_init__(self):
        strangers = {incident.service for incident in self.incidents} - set(self.services)
        if strangers:
            raise IncidentError(f"incidents of services that are not in the fleet: {', '.join(sorted(strangers))}")

    def days(self, start: int, end: int | None) -> Iterator[tuple[dt.date, pa.RecordBatch]]:
        """(local date, readings in order of time) for start <= Timestamp < end, epoch milliseconds; endless where end is None."""
        services = [Service.drawn(self.seed, name) for name in self.services]
        day = self._date(start)
        while end is None or self._midnight(day) < end:
            (readings,) = between([self._day(services, day)], start, end)
            if readings.num_rows:
                yield day, readings
            day += dt.timedelta(days=1)

    def readings(self, start: int, end: int | None) -> Iterator[pa.RecordBatch]:
        """The readings of `days`, without their dates."""
        return (readings for _, readings in self.days(start, end))

    def labels(self) -> list[dict]:
        return [incident.label() for incident in self.incidents]

    def _day(self, services: list[Service], day: dt.date) -> pa.RecordBatch:
        times = self._times(day)
        values = np.empty((len(times), len(services)), np.int64)  # row by row it is in order of time
        for column, service in enumerate(services):
            values[:, column] = self._service_day(service, day, times)
        codes = pa.array(np.tile(np.arange(len(services), dtype=np.int32), len(times)))
        names = pa.DictionaryArray.from_arrays(codes, pa.array(list(self.services), pa.string())).dictionary_decode()
        return batch(names, np.repeat(times, len(services)), values.ravel())

    def _service_day(self, service: Service, day: dt.date, times: np.ndarray) -> np.ndarray:
        values = self._normal(service, day, times)
        for incident in self.incidents:
            if incident.service == service.name and incident.start <= times[-1] and incident.end > times[0]:
                values = incident.apply(times, values, self._reading_before(service, incident.start))
        return values

    def _normal(self, service: Service, day: dt.date, times: np.ndarray) -> np.ndarray:
        local_seconds = (to_wall(times, self.feed.timezone) // 1000) % SECONDS_PER_DAY
        before, today, after = (self.feed.calendar.day_type(day + dt.timedelta(days=days)) for days in (-1, 0, 1))
        mean = service.mean(local_seconds, day, (before, today, after), self.feed.interval_seconds)
        return service.readings(mean, self.seed, day)

    def _reading_before(self, service: Service, instant: int) -> int:
        """The normal reading that was the service's last one before an instant."""
        day = self._date(instant - 1)
        times = self._times(day)
        return int(self._normal(service, day, times)[np.searchsorted(times, instant) - 1])

    def _times(self, day: dt.date) -> np.ndarray:
        """Starts of the intervals of a local day; 23 or 25 hours of them where the clocks change."""
        step = self.feed.interval_seconds * 1000
        return np.arange(self._midnight(day), self._midnight(day + dt.timedelta(days=1)), step)

    def _midnight(self, day: dt.date) -> int:
        wall = np.array([(day.toordinal() - EPOCH) * 86_400_000])
        first, _, skipped = first_pass(wall, self.feed.timezone)
        return int(
            first[0] + skipped[0]
        )  # where midnight itself is skipped, the day begins a moment after its last instant before

    def _date(self, instant: int) -> dt.date:
        return dt.date.fromordinal(EPOCH + int(to_wall(np.array([instant]), self.feed.timezone)[0] // 86_400_000))


def write(simulation: Simulation, start: int, end: int, folder: Path, progress=None) -> int:
    """Write a simulation as Parquet, one file for each local date (Date=…), and its labels.json. Returns how many readings."""
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    for day, readings in simulation.days(start, end):
        part = folder / f"Date={day.isoformat()}" / "readings.parquet"
        part.parent.mkdir(exist_ok=True)
        parquet.write_table(pa.Table.from_batches([readings]), part, compression="zstd")
        written += readings.num_rows
        if progress:
            progress.advance(readings.num_rows)
    (folder / "labels.json").write_text(json.dumps(simulation.labels(), indent=2) + "\n")
    return written
