"""How quickly serving answers with a long history behind it: answers per second, and milliseconds until an answer is there.

One serving process (`uvicorn serving.app:app`) over a generated lake: history of services x slots x dates, and a baseline of all
day types. There is no broker, so every reading comes from history. The clients are a process of their own, with one connection
each.

`point`: the newest reading of one service (a window of a minute). `hour`: an hour of one service. Both ask for one service after
the other. `weeks_cold`: five weeks of a service that was not asked for before, one request at a time. `weeks_again`: the same
once more. `point_beside_16`: points again, while 16 clients ask for five weeks of one service after the other.
"""

import argparse
import contextlib
import datetime as dt
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from urllib.parse import quote

import deltalake
import numpy as np
import pyarrow as pa

from bench import history
from bench.history import Fleet
from bench.platform import Others, cores, figure, say, wait_for
from contracts.feeds import load_feed
from stack.instance import Instance

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


@contextlib.contextmanager
def serving(fleet: Fleet, log: Path) -> Iterator[int]:
    """A serving process over the fleet's lake: its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nobody = {"SUNDIAL_KAFKA": "127.0.0.1:1", "SUNDIAL_REGISTRY": "http://127.0.0.1:1"}
    places = {"SUNDIAL_LAKE": str(fleet.instance.lake), "SUNDIAL_STREAMS": str(fleet.instance.streams)}
    command = [sys.executable, "-m", "uvicorn", "serving.app:app", "--port", str(port), "--no-access-log"]
    with log.open("w") as lines:
        process = subprocess.Popen(command, env=os.environ | nobody | places, stdout=lines, stderr=lines)
    try:
        wait_for("serving answers", lambda: not socket.socket().connect_ex(("127.0.0.1", port)))
        yield port
    finally:
        process.terminate()
        process.wait(20)


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


def measure(fleet: Fleet, port: int, clients: int, seconds: float) -> dict[tuple[str, str], float]:
    def window(name: str, more: str) -> str:
        return f"/api/feeds/{fleet.feed.name}/services/{quote(name, safe='')}/series?{more}"

    end = dt.datetime.combine(history.LAST, dt.time(), dt.UTC)
    span = f"from={(end - WEEKS).isoformat()[:19]}Z&to={end.isoformat()[:19]}Z&width=1200"
    points, hours = ([window(name, f"minutes={minutes}") for name in fleet.names] for minutes in (1, 60))
    weeks = [window(name, span) for name in fleet.names]
    found: dict[tuple[str, str], float] = {}

    def take(name: str, took: list[float], over: float) -> None:
        found[f"{name}_p50", "ms"], found[f"{name}_p99", "ms"] = np.percentile(took, [50, 99])
        if over:
            found[f"{name}_per_s", "answers/s"] = len(took) / over

    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as apart:

        def run(paths: list[str], count: int) -> list[float]:
            return apart.submit(load, port, paths, count, seconds).result()

        one_by_one(port, [*points, *hours])  # each service's newest day is read once
        for name, paths in (("point", points), ("hour", hours)):
            take(name, run(paths, clients), seconds)
        few = weeks[: min(20, len(weeks))]
        take("weeks_cold", one_by_one(port, few), 0)
        take("weeks_again", one_by_one(port, few), 0)
        readers = apart.submit(load, port, weeks, READERS, seconds)
        take(f"point_beside_{READERS}", run(points, clients), seconds)
        take(f"weeks_of_{READERS}", readers.result(), seconds)
    found[f"point_beside_{READERS}_ratio", "x"] = found[f"point_beside_{READERS}_p99", "ms"] / found["point_p99", "ms"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--services", type=int, default=200, help="services of the fleet (default 200)")
    parser.add_argument("--days", type=int, default=35, help="dates of history (default 35)")
    parser.add_argument("--clients", type=int, default=4, help="that ask at once (default 4)")
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement (default 20)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work there, keep it, and use the history found there")
    options = parser.parse_args()
    say(cores())
    with contextlib.ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sundial-bench-")))
        fleet = Fleet(
            Instance(folder / f"{options.services}x{options.days}").make(0),
            load_feed("service-use"),
            options.services,
            options.days,
        )
        say(f"history of {options.days} dates, {options.services * fleet.feed.slots * options.days:,} readings")
        history.generate(fleet)
        promote(fleet)
        others = Others()
        with serving(fleet, folder / "serving.log") as port:
            found = measure(fleet, port, options.clients, options.seconds)
        for (metric, unit), value in found.items():
            figure("serving", "sundial", metric, [value], unit)
        figure("serving", "others", "busy", [others.cores()], "cores")


if __name__ == "__main__":
    main()
