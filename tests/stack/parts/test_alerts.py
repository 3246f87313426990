"""`alerts` gets the variables of the shell that starts it, and is started again for other values."""

import sys

import pytest

from stack.instance import MARK, Instance
from stack.parts import alerts, process, watcher
from tests.support.waiting import until

SLEEP = "import time; time.sleep(600)"


@pytest.fixture
def instance(tmp_path, monkeypatch):
    monkeypatch.setenv("SUNDIAL_ALERT_SHOP_URL", "https://old.example")
    monkeypatch.setenv("SUNDIAL_ALERT_SHOP_KEY", "key")
    made = Instance(tmp_path / "home").make(base=0)
    for name, real in (("alerts", alerts), ("watcher", watcher)):

        def part(of: Instance, name: str = name, real_part=real.part) -> process.Part:
            environment = real_part(of).environment
            return process.Part(name, [sys.executable, "-c", SLEEP], environment, lambda: True)

        monkeypatch.setattr(real, "part", part)
    yield made
    process.kill(process.strays(made))


def ups(instance: Instance) -> dict[str, int]:
    """Starts both as `sundial up` does; their pids."""
    alerts.start(instance)
    watcher.start(instance)
    assert values(instance, "alerts")
    return {name: process.find(instance, name).pid for name in ("alerts", "watcher")}


def values(instance: Instance, name: str) -> dict[str, str]:
    def environment() -> dict[str, str]:
        return process.find(instance, name).environ()

    until("its program has begun", lambda: MARK in environment())  # a moment after its process
    return {key: value for key, value in environment().items() if key.startswith("SUNDIAL_ALERT_")}


def test_a_new_value_is_given_to_both_and_what_this_shell_has_not_stays(instance, monkeypatch):
    before = ups(instance)
    monkeypatch.setenv("SUNDIAL_ALERT_SHOP_URL", "https://new.example")
    monkeypatch.delenv("SUNDIAL_ALERT_SHOP_KEY")
    after = ups(instance)
    assert before.items().isdisjoint(after.items())
    for name in ("alerts", "watcher"):
        assert values(instance, name) == {"SUNDIAL_ALERT_SHOP_URL": "https://new.example", "SUNDIAL_ALERT_SHOP_KEY": "key"}


@pytest.mark.parametrize("known", [True, False])
def test_without_a_new_value_both_are_left_alone(instance, monkeypatch, known):
    before = ups(instance)
    if not known:
        monkeypatch.delenv("SUNDIAL_ALERT_SHOP_URL")
        monkeypatch.delenv("SUNDIAL_ALERT_SHOP_KEY")
    assert ups(instance) == before


def test_a_watcher_from_before_the_first_route_is_started_again_as_it_would_start_alerts_without_its_variables(
    instance, monkeypatch
):
    with monkeypatch.context() as without:
        without.delenv("SUNDIAL_ALERT_SHOP_URL")
        without.delenv("SUNDIAL_ALERT_SHOP_KEY")
        watcher.start(instance)
        assert values(instance, "watcher") == {}
    ups(instance)
    assert values(instance, "watcher") == values(instance, "alerts") != {}
