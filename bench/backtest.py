"""`sundial backtest`, from its start to its exit: a capture of 16,000 rows, and a feed's history of 60 million readings.

Systems: `sundial` (the command) and `floor` (DuckDB reads the same rows and writes them as CSV, in the order of the output). The
capture is the first part of the road-traffic sample. History: services x 8,640 slots x dates, one sorted file per date.
"""

import argparse
import gzip
import os
import sys
from itertools import islice
from pathlib import Path

from bench import history
from bench.history import Fleet
from bench.nightly import DUCKDB, run, workplace
from bench.platform import REPO, cores, figure, say
from contracts.feeds import load_feed
from stack.instance import Instance

SAMPLE = REPO / "samples" / "metro_interstate_traffic_volume.csv.gz"
CAPTURE_ROWS = 16_000
CAPTURE = "--timestamp date_time --value traffic_volume --interval 1h --timezone America/Chicago --holidays US-MN"
COPY = "COPY (SELECT * FROM {source} ORDER BY {order}) TO '{target}' (HEADER)"


def capture(folder: Path) -> Path:
    """A CSV file with the first rows of the sample."""
    file = folder / "capture.csv"
    with gzip.open(SAMPLE, "rt") as rows, file.open("w") as out:
        out.writelines(islice(rows, CAPTURE_ROWS + 1))
    return file


def measure(folder: Path, fleet: Fleet, results: dict[tuple[str, str], list[float]]) -> None:
    """One repeat of every figure."""
    instance, file = fleet.instance, capture(folder)
    environment = {**os.environ, "PYTHONPATH": str(REPO), "SUNDIAL_LAKE": str(instance.lake)}
    sundial, floor = [str(Path(sys.prefix) / "bin" / "sundial"), "backtest"], [sys.executable, "-c", DUCKDB]
    source, target = str(fleet.history / "*" / "*.parquet"), folder / "floor.csv"
    commands = {
        ("sundial", "capture_s"): ([*sundial, str(file), *CAPTURE.split(), "--output", str(folder / "capture.out")], ""),
        ("floor", "capture_s"): (floor, COPY.format(source=f"'{file}'", order="date_time", target=target)),
        ("sundial", "history_s"): ([*sundial, "--feed", fleet.feed.name, "--output", str(folder / "history.out")], ""),
        ("floor", "history_s"): (floor, COPY.format(source=f"'{source}'", order="Timestamp, ServiceName", target=target)),
    }
    for name, (command, text) in commands.items():
        done = run(instance.logs / "backtest.log", command, environment, text)
        say(f"{done.seconds:.1f} s, {done.peak_mb:,.0f} MB: {', '.join(name)}")
        results.setdefault(name, []).append(done.seconds)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--services", type=int, default=200, help="services of the fleet (default %(default)s)")
    parser.add_argument("--days", type=int, default=35, help="dates of history (default %(default)s)")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each system, in turn (default %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work there, keep it, and use the history found there")
    return parser.parse_args()


def main() -> None:
    options, feed = parse(), load_feed("service-use")
    results: dict[tuple[str, str], list[float]] = {}
    say(cores())
    with workplace(options.keep) as folder:
        fleet = Fleet(Instance(folder / f"{options.services}x{options.days}").make(0), feed, options.services, options.days)
        say(f"history of {options.days} dates, {options.services * feed.slots * options.days:,} readings")
        history.generate(fleet)
        for turn in range(options.repeat):
            say(f"run {turn + 1} of {options.repeat}")
            measure(folder, fleet, results)
    for (system, metric), values in results.items():
        figure("backtest", system, metric, values, "s")


if __name__ == "__main__":
    main()
