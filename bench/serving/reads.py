"""Reads of a long history: a generated lake, clients in processes of their own with one connection each, and their answers.

`point`: a minute of one service. `hour`: an hour of one service. Both ask for one service after the other. `weeks_cold`: five
weeks of a service that was not asked for before, one request at a time. `weeks_warm`: the same once more, so each answer is a
kept one. `beside_16`: points again, while 16 clients ask for five weeks of one service after the other.

Serving keeps answers, so each request but those of `weeks_warm` is for a window that was not asked for before.
"""

import datetime as dt
import itertools
import json
import multiprocessing
import socket
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import deltalake
import numpy as np
import pyarrow as pa

from bench import history
from bench.history import Fleet
from bench.serving.process import serving

WEEKS = dt.timedelta(days=35)
READERS = 16
ROWS = pa.schema(
    [
        ("ServiceName", pa.string()),
        ("DayType", pa.int32()),
        ("Last4Avg", pa.list_(pa.float64())),
        ("Samples", pa.list_(pa.int32())),
        ("Spread", pa.list_(pa.float64())),
        ("Growth", pa.float64()),
        ("Dates", pa.list_(pa.date32())),
    ]
)


def promote(fleet: Fleet) -> None:
    """Puts a baseline in force: of each day type, what its last date was."""
    feed, rows = fleet.feed, []
    for back in range(7):
        date = history.LAST - dt.timedelta(days=back)
        values = history.readings(fleet, date)["Value"].to_numpy().reshape(fleet.services, feed.slots).astype(float)
        rows += [
            {
                "ServiceName": name,
                "DayType": date.isoweekday(),
                "Last4Avg": own,
                "Samples": np.full(feed.slots, 4),
                "Spread": np.full(feed.spread_windows, own.mean() / 20),
                "Growth": 1.0,
                "Dates": [date],
            }
            for name, own in zip(fleet.names, values, strict=True)
        ]
    table = pa.Table.from_pylist(rows, schema=ROWS)
    note = deltalake.CommitProperties(custom_metadata={"userMetadata": json.dumps({"candidate_version": 0})})
    path = str(fleet.instance.lake / "baseline" / feed.table)
    deltalake.write_deltalake(path, table, mode="overwrite", partition_by=["DayType"], commit_properties=note)


class Client:
    """One connection that stays open. Little work, so that the machine's cores are left to serving."""

    def __init__(self, port: int):
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._file = self._socket.makefile("rb")

    def get(self, path: str) -> float:
        """Milliseconds until the whole answer was there. Raises RuntimeError where it is not 200."""
        began = time.perf_counter()
        self._socket.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        status = self._file.readline()
        length = 0
        while (line := self._file.readline().strip()) != b"":
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        body = self._file.read(length)
        if b" 200 " not in status:
            raise RuntimeError(f"{path}: {status.decode().strip()} {body[:300].decode()}")
        return 1000 * (time.perf_counter() - began)


@dataclass(frozen=True)
class Windows:
    """Series to ask for: of one service after the other, and then of all of them an interval earlier."""

    fleet: Fleet
    length: dt.timedelta
    width: int = 1500

    def path(self, number: int) -> str:
        """Of the request with this number; no two are the same."""
        feed, (earlier, service) = self.fleet.feed, divmod(number, self.fleet.services)
        end = dt.datetime.combine(history.LAST, dt.time(), dt.UTC) - earlier * dt.timedelta(seconds=feed.interval_seconds)
        span = f"from={(end - self.length).isoformat()[:19]}Z&to={end.isoformat()[:19]}Z&width={self.width}"
        return f"/api/feeds/{feed.name}/services/{quote(self.fleet.names[service], safe='')}/series?{span}"

    def paths(self, first: int, last: int) -> list[str]:
        return [self.path(number) for number in range(first, last)]


def load(port: int, windows: Windows, first: int, clients: int, seconds: float) -> list[float]:
    """Milliseconds of each answer, to clients that ask again as soon as they have one, from the request numbered `first` on. In a
    process of its own."""
    took: list[float] = []
    until, numbers = time.monotonic() + seconds, itertools.count(first)

    def ask() -> None:
        client = Client(port)
        while time.monotonic() < until:
            took.append(client.get(windows.path(next(numbers))))

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


def one_by_one(port: int, paths: list[str]) -> list[float]:
    client = Client(port)
    return [client.get(path) for path in paths]


def asked(fleet: Fleet, port: int, clients: int, seconds: float) -> dict[tuple[str, str], float]:
    """Figures by name and unit."""
    points, hours = (Windows(fleet, dt.timedelta(minutes=minutes)) for minutes in (1, 60))
    weeks = Windows(fleet, WEEKS, width=1200)
    found: dict[tuple[str, str], float] = {}
    asked_for: Counter[dt.timedelta] = Counter()  # requests by the length of their windows

    def take(name: str, took: list[float]) -> None:
        for suffix, quantile in (("p50", 50), ("p99", 99)):
            found[f"{name}_{suffix}_ms", "ms"] = float(np.percentile(took, quantile))

    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as apart:

        def run(windows: Windows, count: int) -> list[float]:
            took = apart.submit(load, port, windows, asked_for[windows.length], count, seconds).result()
            asked_for[windows.length] += len(took)
            return took

        for windows in (points, hours):  # each service's newest day is read once
            one_by_one(port, windows.paths(0, fleet.services))
            asked_for[windows.length] = fleet.services
        for name, rate, windows in (("point", "point_reads_per_s", points), ("hour", "hour_per_s", hours)):
            took = run(windows, clients)
            found[rate, "answers/s"] = len(took) / seconds
            take(name, took)
        few = min(20, fleet.services)
        for name in ("weeks_cold", "weeks_warm"):
            took = one_by_one(port, weeks.paths(0, few))
            found[f"{name}_ms", "ms"] = float(np.median(took))
            found[f"{name}_worst_ms", "ms"] = max(took)
        readers = apart.submit(load, port, weeks, few, READERS, seconds)
        take(f"beside_{READERS}_point", run(points, clients))
        found[f"weeks_of_{READERS}_per_s", "answers/s"] = len(readers.result()) / seconds
    found[f"beside_{READERS}_ratio", "x"] = found[f"beside_{READERS}_point_p99_ms", "ms"] / found["point_p99_ms", "ms"]
    return found


def measure(folder: Path, fleet: Fleet, clients: int, seconds: float) -> dict[tuple[str, str], float]:
    """With a serving process that finds no broker, so that every reading comes from history."""
    history.generate(fleet)
    promote(fleet)
    nobody = {"SUNDIAL_KAFKA": "127.0.0.1:1", "SUNDIAL_REGISTRY": "http://127.0.0.1:1"}
    places = {"SUNDIAL_LAKE": str(fleet.instance.lake), "SUNDIAL_STREAMS": str(fleet.instance.streams)}
    with serving(nobody | places, folder / "reads.log") as (port, _):
        return asked(fleet, port, clients, seconds)
