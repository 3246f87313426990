"""How quickly serving answers with a long history behind it, how soon a page shows a record, and what pages that listen cost.

The reads come from a generated history without a broker (`bench/serving/reads.py`); the records go through a broker of the
benchmark's own to a page in Chromium (`bench/serving/live.py`).
"""

import argparse
import contextlib
import tempfile
from pathlib import Path

from bench.history import Fleet
from bench.platform import Others, cores, figure, say
from bench.serving import live, reads
from contracts.feeds import load_feed
from stack.instance import Instance


def main() -> None:
    parser = argparse.ArgumentParser("serving", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--services", type=int, default=200, help="services of the history (default 200)")
    parser.add_argument("--days", type=int, default=35, help="dates of the history (default 35)")
    parser.add_argument("--clients", type=int, default=4, help="that ask at once (default 4)")
    parser.add_argument("--listeners", type=int, default=200, help="open streams of events (default 200)")
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement (default 20)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work there, keep it, and use the history found there")
    options = parser.parse_args()
    say(cores())
    with contextlib.ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sundial-bench-")))
        feed, size = load_feed("service-use"), f"{options.services}x{options.days}"
        fleet = Fleet(Instance(folder / size).make(0), feed, options.services, options.days)
        others = Others()
        say(f"{options.listeners} listeners, and records to a page")
        found = live.measure(folder, options.seconds, options.listeners)
        say(f"history of {options.days} dates, {options.services * feed.slots * options.days:,} readings")
        found |= reads.measure(folder, fleet, options.clients, options.seconds)
        for (metric, unit), value in found.items():
            figure("serving", "sundial", metric, [value], unit)
        figure("serving", "others", "busy", [others.cores()], "cores")


if __name__ == "__main__":
    main()
