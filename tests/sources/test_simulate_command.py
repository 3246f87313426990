"""`sundial simulate`: into Parquet, into the topic, and live until Ctrl-C."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]


def test_a_fleet_as_parquet_is_played_back(run, platform, tmp_path):
    made = run(
        "simulate", "--feed", "service-use", "--services", "a,b", "--from", "2026-11-18 10:00", "--until", "2026-11-18 10:10",
        "--incident", "outage@a+1m..2m", "--out", tmp_path / "fleet",
    )  # fmt: skip
    assert made.stdout.startswith("120 readings and 1 labels to")
    assert json.loads((tmp_path / "fleet/labels.json").read_text()) == [
        {"service": "a", "kind": "outage", "start": "2026-11-18T15:01:00+00:00", "end": "2026-11-18T15:03:00+00:00"}
    ]
    done = run("replay", tmp_path / "fleet", "--feed", "service-use")
    assert done.stdout.startswith("120 events to service-use")
    assert sum(value.endswith(b"\x00") for key, value in platform.messages(120) if key == "a") == 12
    again = run("simulate", "--feed", "service-use", "--from", "-1h", "--out", tmp_path / "fleet")
    assert (again.exit_code, "the folder is not empty" in " ".join(again.stderr.split())) == (2, True)


@pytest.mark.full
def test_history_and_live_until_ctrl_c(platform):
    environment = {**os.environ, "SUNDIAL_KAFKA": platform.kafka, "SUNDIAL_REGISTRY": platform.registry}
    fleet = ["--feed", "service-use", "--services", "2", "--from", "-10m"]
    live = ["--live", "--speed", "50", "--incident", "surge@search+1m..5m"]
    command = [Path(sys.executable).with_name("sundial"), "simulate", *fleet, *live]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    out = ""
    while " events to service-use" not in out:  # the history is loaded
        out += process.stdout.readline()
        assert process.poll() is None
    until("live readings after the history", lambda: platform.count() > 118 + 4)
    process.send_signal(signal.SIGINT)
    out += process.communicate(timeout=30)[0]
    assert process.returncode == 130
    label, _ = json.JSONDecoder().raw_decode(out)
    assert [(each["service"], each["kind"]) for each in label] == [("search", "surge")]
    history, live = re.findall(r"^([\d,]+) events to service-use.*?(?: \((stopped early)\))?$", out, re.M)
    assert history == ("118", "")  # ten minutes that don't begin with an interval hold 59
    assert int(live[0]) > 4
    assert live[1] == "stopped early"
    assert len(platform.messages(118 + int(live[0]))) == 118 + int(live[0])
