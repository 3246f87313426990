"""The options of a run."""

import argparse
import secrets
from pathlib import Path

from bench.chaos import place

STREAMS = "service-use.score,access-log.queries,events.queries"
# Seconds: 70, as docs/handover.md says; 60, a batch, if the broker is out as the next query would begin; the rest if all is slow.
TOLERANCE = 200
OTHERS = "access-log, events, rides, fares, metrics, migrations (each .queries)"


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="bench.chaos", description=__doc__)
    add = made.add_argument
    add("--seed", type=int, default=secrets.randbelow(10**9), help="of producers, faults and people (default: a fresh one)")
    add("--minutes", type=float, default=30, help="length of the run, without its start and its judgement (default 30)")
    add("--rate", type=int, default=2000, help="records a second, of all topics together (default 2000)")
    until = f"seconds until a stream must go by a new baseline or schema (default {TOLERANCE})"
    add("--tolerance", type=float, default=TOLERANCE, help=until)
    add("--patience", type=float, default=600, help="seconds until a stream must be back (default 600)")
    add("--streams", default=STREAMS, help=f"of service-use.score and {OTHERS}: those that run (default {STREAMS})")
    add("--faketime", type=_library, default=place.faketime(), metavar="FILE", help="libfaketime.so.1, if not installed")
    add("--report", type=Path, metavar="FILE", help="write the report (Markdown) there, and all logs beside it")
    add("--plan", action="store_true", help="print what the seed decides, and do nothing")
    add("--calm", action="store_true", help="producers alone: no faults and no people")
    return made


def _library(text: str) -> Path:
    if not place.works(Path(text)):
        raise argparse.ArgumentTypeError(f"{text} does not set a process's clock, or its sleeps are errors; leave it out")
    return Path(text)


def streams(options: argparse.Namespace) -> list[str]:
    return options.streams.split(",")


def without(options: argparse.Namespace) -> list[str]:
    """Faults that this machine cannot have."""
    clock = [] if options.faketime else ["clock_ahead", "clock_back"]
    return clock + ([] if place.has_small_disk() else ["disk_full"])
