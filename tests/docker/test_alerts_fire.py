"""Prometheus' own promtool evaluates the alert rules on recorded metrics: each fires when it should, and only then."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docker.compose import ROOT

FILES = sorted((Path(__file__).parent / "alerts").glob("*.yml"))
PROMTOOL = shutil.which("promtool", path=f"{ROOT / 'build'}{os.pathsep}{os.environ['PATH']}")  # see tests/promtool.sh
pytestmark = [pytest.mark.full, pytest.mark.skipif(PROMTOOL is None, reason="there is no promtool")]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_alerts_fire_when_they_should_and_only_then(file):
    ran = subprocess.run([PROMTOOL, "test", "rules", file], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
