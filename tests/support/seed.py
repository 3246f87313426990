"""A pytest plugin: one seed for all random choices of a run. It is printed; SUNDIAL_TEST_SEED gives it again."""

import os
import random
import secrets

from _pytest.terminal import TerminalReporter

VARIABLE = "SUNDIAL_TEST_SEED"
SEED = os.environ.setdefault(VARIABLE, str(secrets.randbelow(10**9)))  # the workers of pytest-xdist start later and inherit it


def chance(name: str) -> random.Random:
    """A source of random choices of its own for each name, so that a test chooses alike whatever ran before it."""
    return random.Random(f"{SEED} {name}")


def pytest_report_header() -> str:
    return f"random choices: {VARIABLE}={SEED}"


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Again where a test failed: that may be far from the header, and -q shows none."""
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        terminalreporter.write_line(f"{VARIABLE}={SEED} makes the random choices of this run again")
