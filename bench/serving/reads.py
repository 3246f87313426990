"""Reads of a long history: a generated lake, clients in processes of their own with one connection each, and their answers.

`point`: the newest reading of one service (a window of a minute). `hour`: an hour of one service. Both ask for one service after
the other. `weeks_cold`: five weeks of a service that was not asked for before, one request at a time. `weeks_warm`: the same
once more. `beside_16`: points again, while 16 clients ask for five weeks of one service after the other.
"""

import datetime as dt
import json
import multiprocessing
import socket
import threading
import time
from concurrent.futures import ProcessPoolExecutor
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


def load(port: int, paths: list[str], clients: int, seconds: float) -> list[float]:
    """Milliseconds of each answer, to clients that ask again as soon as they have one. In a process of its own."""
    took: list[float] = []
    until = time.monotonic() + seconds

    def ask(number: int) -> None:
        client = Client(port)
        while time.monotonic() < until:
            took.append(client.get(paths[number % len(paths)]))
            number += clients

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(clients)]
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

    def window(name: str, more: str) -> str:
        return f"/api/feeds/{fleet.feed.name}/services/{quote(name, safe='')}/series?{more}"

    end = dt.datetime.combine(history.LAST, dt.time(), dt.UTC)
    span = f"from={(end - WEEKS).isoformat()[:19]}Z&to={end.isoformat()[:19]}Z&width=1200"
    points, hours = ([window(name, f"minutes={minutes}") for name in fleet.names] for minutes in (1, 60))
    weeks = [window(name, span) for name in fleet.names]
    found: dict[tuple[str, str], float] = {}

    def take(name: str, took: list[float]) -> None:
        for suffix, quantile in (("p50", 50), ("p99", 99)):
            found[f"{name}_{suffix}_ms", "ms"] = float(np.percentile(took, quantile))

    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as apart:

        def run(paths: list[str], count: int) -> list[float]:
            return apart.submit(load, port, paths, count, seconds).result()

        one_by_one(port, [*points, *hours])  # each service's newest day is read once
        for name, rate, paths in (("point", "point_reads_per_s", points), ("hour", "hour_per_s", hours)):
            took = run(paths, clients)
            found[rate, "answers/s"] = len(took) / seconds
            take(name, took)
        few = weeks[: min(20, len(weeks))]
        for name in ("weeks_cold", "weeks_warm"):
            took = one_by_one(port, few)
            found[f"{name}_ms", "ms"] = float(np.median(took))
            found[f"{name}_worst_ms", "ms"] = max(took)
        readers = apart.submit(load, port, weeks, READERS, seconds)
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
