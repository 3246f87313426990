"""What `sundial status` says of processes that have ended, and of messages that were given up."""

import sys

import pytest
from typer.testing import CliRunner

from stack.commands.cli import app
from stack.instance import ROOT, Instance, free_ports
from stack.parts import alerts, process, status
from tests.support.waiting import until


@pytest.mark.parametrize("name", ["live.world-cup", "live"])
def test_what_was_started_and_is_gone_is_dead(tmp_path, name):
    instance = Instance(tmp_path).make(base=0)
    process.start(instance, process.Part(name, ["true"], {}, healthy=lambda: True))
    until("its end", lambda: process.find(instance, name) is None)
    (row,) = [row for row in status.rows(instance) if row.name == name]
    assert (row.state, row.pid) == ("dead", None)


ALERTS = """
import sys, time
from serving.alerts.ledger import Rows
from serving.alerts.metrics import Metrics
metrics = Metrics()
metrics.serve("127.0.0.1", int(sys.argv[1]))
for route in ("on-call", "on-call", "shop"):
    metrics.given_up(route)
metrics.held(["on-call: target: the environment variable X is not set"])
metrics.turned(Rows())
time.sleep(600)
"""


def test_messages_that_were_given_up_and_targets_that_are_held_are_shown(tmp_path):
    instance, [port] = Instance(tmp_path).make(base=0), free_ports(1)
    command = [sys.executable, "-c", ALERTS, str(port)]
    part = process.Part(
        alerts.NAME, command, instance.process_environment(), lambda: alerts.healthy(instance), port=port, folder=ROOT
    )
    try:
        process.start(instance, part)
        process.wait(instance, part)
        shown = CliRunner().invoke(app, ["--home", str(tmp_path), "status"]).output
    finally:
        process.stop(instance, alerts.NAME)
    assert "alerts: 0 messages wait, the oldest for 0 s; 3 were given up since the process was started" in shown
    assert (
        "alerts: on-call: target: the environment variable X is not set; its messages wait: "
        "set the right variables in a shell, and run there: sundial up"
    ) in shown
    assert "a route of alerts is held; the log may say why" in shown
    assert alerts.messages(instance) is None
