"""The command: `make bench NAME=chaos ARGS="--seed N --minutes 30"`."""

import argparse
import secrets

from bench.chaos.run import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9), help="of all choices (default: a fresh one)")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=int, default=2000, help="records a second, of all topics (default 2000)")
    parser.add_argument("--tolerance", type=float, default=60, help="seconds within which streams go by a promoted baseline")
    return run(parser.parse_args())


if __name__ == "__main__":
    raise SystemExit(main())
