"""Five minutes of the bench `chaos`: hostile records, faults and people by a fresh seed, and not one promise broken.

The seed is in the output. `python -m bench.chaos --seed N --minutes 5 --rate 300` does the same again.
"""

import json
import os
import subprocess
import sys

import pytest

from stack.instance import ROOT
from tests.support.seed import SEED

pytestmark = [pytest.mark.timeout(5400), pytest.mark.full, pytest.mark.parts, pytest.mark.kill]
MINUTES, RATE = 5, 300
LENIENT = ("--tolerance", "240", "--patience", "900")  # other tests use the machine as well


def test_five_minutes_of_chaos_break_no_promise(tmp_path):
    report = tmp_path / "report.md"
    options = ["--seed", SEED, "--minutes", str(MINUTES), "--rate", str(RATE), "--report", str(report), *LENIENT]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SUNDIAL_")}
    command = [sys.executable, "-m", "bench.chaos", *options]
    done = subprocess.run(command, cwd=ROOT, env=clean, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-20_000:] + done.stdout
    figures = {each["metric"]: each["value"] for each in map(json.loads, done.stdout.splitlines()) if each["bench"] == "chaos"}
    assert (figures["missing"], figures["wrong"], figures["doubled"]) == (0, 0, 0)
    assert figures["readings"] > MINUTES * 60 * RATE / 3, "most of the feed's records are readings"
    assert figures["letters"] > 0
    assert figures["faults"] > 0
    assert "No promise was broken" in report.read_text()
