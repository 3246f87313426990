"""The nightly baseline against DuckDB on the same Parquet files in the same run: seconds from start to exit, and peak memory.

Systems: `sundial` (jobs/build_baseline.py, submitted as the Airflow task submits it; JVM and session start count) and `duckdb`
(the same definition as SQL, in a process of its own). History: services x 8,640 slots x dates, one sorted file per date.

`full` computes every day type, `increment` those whose dates differ from the night before: sundial finds them out and works on
top of that night's candidate, which is made beforehand; duckdb is told which. `avg_only` leaves the spread out. Figures with
`_140d` are of the longer history. `..._ratio`: sundial's seconds by those of duckdb's full recompute, or avg_only where named.

After each timed build the candidate is compared with what duckdb wrote, every cell; where they differ, the exit code is 1.
"""

import argparse
import contextlib
import datetime as dt
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench import history
from bench.history import Dates, Fleet
from bench.platform import REPO, cores, figure, say
from contracts.feeds import load_feed
from stack.errors import tail
from stack.instance import Instance
from stack.parts import airflow, process

AS_OF = history.LAST + dt.timedelta(days=1)  # the night after the last date
LIMIT = 3600  # seconds after which a run is given up
PAUSE = 0.2  # seconds between two looks at the memory
# What the task would run, asked of the task itself: Airflow is not loaded into the benchmark.
SUBMIT = """
import json, sys
from dags.spark_job import spark_job
task = spark_job("build_baseline", sys.argv[1])
print(json.dumps(task._get_hook()._build_spark_submit_command(task.application)))
"""
DUCKDB = "import duckdb, sys; duckdb.connect().execute(sys.stdin.read())"


@dataclass(frozen=True)
class Run:
    """A process from its start to its exit: wall time, and the most memory that it and its children held at once."""

    seconds: float
    peak_mb: float


def run(log: Path, command: list[str], environment: dict[str, str], text: str = "") -> Run:
    """Runs a command that reads `text`, its output in a log. Exits with the log's end where it fails."""
    peaks, ended = [0.0], threading.Event()
    with log.open("wb") as out, tempfile.TemporaryFile() as given:
        given.write(text.encode())
        given.seek(0)
        begin = time.perf_counter()
        started = subprocess.Popen(
            command, env=environment, cwd=log.parent, stdin=given, stdout=out, stderr=out, start_new_session=True
        )
        leader = psutil.Process(started.pid)
        watcher = threading.Thread(target=_watch, args=(leader, peaks, ended))
        watcher.start()
        try:
            code = started.wait(LIMIT)
            seconds = time.perf_counter() - begin
        finally:
            ended.set()
            watcher.join()
            if started.poll() is None:
                process.stop_tree(leader)
    if code:
        sys.exit(f"{log.stem} ended with code {code}; the last lines of its log:\n{tail(log)}")
    return Run(seconds, max(peaks))


def _watch(leader: psutil.Process, peaks: list[float], ended: threading.Event) -> None:
    """Notes the memory of the process tree in MB: proportional set size, so what forked workers share counts once."""
    while not ended.wait(PAUSE):
        total = 0
        with contextlib.suppress(psutil.NoSuchProcess):
            for each in (leader, *leader.children(recursive=True)):
                with contextlib.suppress(psutil.NoSuchProcess):
                    total += each.memory_full_info().pss
        peaks.append(total / 1e6)


class Sundial:
    """The build task over a fleet's history."""

    def __init__(self, fleet: Fleet):
        self._fleet, self._log = fleet, fleet.instance.logs / "build_baseline.log"
        self._environment = airflow.process_environment(fleet.instance) | {"PYTHONPATH": str(REPO)}
        asking = [sys.executable, "-c", SUBMIT, fleet.feed.name]
        answer = subprocess.run(asking, env=self._environment, stdout=subprocess.PIPE, text=True, check=True)
        program, *options = json.loads(answer.stdout.splitlines()[-1])
        # The program is looked up in the benchmark's own environment, so by its full path.
        self._command = [str(Path(sys.prefix) / "bin" / program), *options]

    def forget(self) -> None:
        """No candidate, as before the first night."""
        shutil.rmtree(self._fleet.candidate, ignore_errors=True)

    def build(self, as_of: dt.date, *options: str) -> Run:
        arguments = [f"--run-id=bench-{as_of}", f"--as-of={as_of}", *options]
        done = run(self._log, [*self._command, *arguments], self._environment)
        said = [line for line in self._log.read_text().splitlines() if line.startswith("baseline_candidate/")]
        say(f"{done.seconds:.1f} s, {done.peak_mb:,.0f} MB: {said[-1]}")
        return done

    def check(self, dates: Dates, out: Path) -> None:
        if wrong := history.differences(self._fleet, dates, out):
            sys.exit("\n".join(["sundial and duckdb differ:", *wrong]))
        say("every cell of the candidate is what duckdb computed")


def duckdb(fleet: Fleet, dates: Dates, name: str, spread: bool = True) -> tuple[Run, Path]:
    """DuckDB's baseline of these dates, as Parquet files in a folder of that name."""
    out = fleet.instance.path / "duckdb" / name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    sql = history.script(fleet, dates, out, spread)
    done = run(fleet.instance.logs / "duckdb.log", [sys.executable, "-c", DUCKDB], fleet.instance.process_environment(), sql)
    say(f"{done.seconds:.1f} s, {done.peak_mb:,.0f} MB: duckdb, {name}")
    return done, out


def measure(fleet: Fleet, systems: list[str], results: dict, long: bool) -> None:
    """One repeat of every figure of a fleet."""
    dates, night_before = fleet.feed.calendar.baseline_dates(AS_OF), AS_OF - dt.timedelta(days=1)
    before = fleet.feed.calendar.baseline_dates(night_before)
    suffix = f"_{fleet.days}d" if long else ""

    def note(system: str, metric: str, value: float) -> None:
        results.setdefault((system, metric, "MB" if metric.endswith("_mb") else "s"), []).append(value)

    full, out = duckdb(fleet, dates, "full")  # what to compare with, where duckdb is not measured
    if "duckdb" in systems:
        note("duckdb", f"full{suffix}_s", full.seconds)
        if not long:
            note("duckdb", "peak_mb", full.peak_mb)
            note("duckdb", "avg_only_s", duckdb(fleet, dates, "avg_only", spread=False)[0].seconds)
            changed = {day_type: days for day_type, days in dates.items() if days != before[day_type]}
            note("duckdb", "increment_s", duckdb(fleet, changed, "increment")[0].seconds)
    if "sundial" in systems:
        sundial = Sundial(fleet)
        sundial.forget()
        sundial.build(night_before, "--full")
        increment = sundial.build(AS_OF)
        sundial.check(dates, out)
        sundial.forget()
        full = sundial.build(AS_OF, "--full")
        sundial.check(dates, out)
        note("sundial", f"increment{suffix}_s", increment.seconds)
        note("sundial", f"full{suffix}_s", full.seconds)
        if not long:
            note("sundial", "increment_peak_mb", increment.peak_mb)
            note("sundial", "peak_mb", full.peak_mb)


def ratios(results: dict, suffix: str) -> Iterator[tuple[str, list[float]]]:
    """Name and values by repeat of what both systems have figures for."""
    for metric in (f"full{suffix}", f"increment{suffix}"):
        for peer, name in ((f"full{suffix}_s", f"{metric}_ratio"), ("avg_only_s", f"{metric}_avg_only_ratio")):
            ours, theirs = results.get(("sundial", f"{metric}_s", "s"), []), results.get(("duckdb", peer, "s"), [])
            if ours and theirs:
                yield name, [one / other for one, other in zip(ours, theirs, strict=True)]


@contextlib.contextmanager
def workplace(keep: Path | None) -> Iterator[Path]:
    """A folder for all that is generated: the one to keep, or one that is gone afterwards."""
    if keep:
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="sundial-bench-") as folder:
        yield Path(folder)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--services", type=int, default=200, help="services of the fleet (default 200)")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each system, in turn (default 1)")
    parser.add_argument("--systems", nargs="+", choices=["sundial", "duckdb"], default=["sundial", "duckdb"])
    parser.add_argument("--days", type=int, default=35, help="dates of history (default 35)")
    parser.add_argument("--long-days", type=int, default=140, help="dates of the longer history (default 140; 0: none)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work there, keep it, and use the histories found there")
    return parser.parse_args()


def main() -> None:
    options = parse()
    say(cores())
    feed, results, suffix = load_feed("service-use"), {}, f"_{options.long_days}d"
    with workplace(options.keep) as folder:
        fleets = []
        for days in filter(None, (options.days, options.long_days)):
            fleet = Fleet(Instance(folder / f"{options.services}x{days}").make(0), feed, options.services, days)
            say(f"history of {days} dates, {options.services * feed.slots * days:,} readings")
            history.generate(fleet)
            fleets.append(fleet)
        for turn in range(options.repeat):
            for fleet in fleets:
                say(f"run {turn + 1} of {options.repeat}: {fleet.days} dates")
                measure(fleet, options.systems, results, long=fleet is not fleets[0])
    for (system, metric, unit), values in sorted(results.items()):
        figure("nightly", system, metric, values, unit)
    for part in ("", suffix):
        for name, values in ratios(results, part):
            figure("nightly", "sundial", name, values, "x")


if __name__ == "__main__":
    main()
