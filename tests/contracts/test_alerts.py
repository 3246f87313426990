"""Routes of alerts: the examples on the page are some, and all mistakes in a wrong one are named at once."""

import re

import pytest
import yaml

from contracts.alerts import Route, load_routes, severity_of, variables_of
from contracts.declarations import SCHEMAS, DeclarationError

PAGE = (SCHEMAS.parent / "docs/alerts.md").read_text()
WRONG = """
name: wrong
description: x
services: "("
severity: high
hours: [mon-fri 8-18]
timezone: Mars
wait: soon
silences: [{until: 2026-11-25T08:00:00Z, from: 2026-11-26T08:00:00Z}]
target: {kind: webhook, url: https://example.org/secret}
escalation: {after: 30 minutes, target: {kind: slack, key: SUNDIAL_ALERT_X}}
reminder: 5 seconds
remind: 1
"""


def test_the_examples_on_the_page_are_routes(tmp_path):
    """Each is the file that its name says."""
    examples = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    for example in examples:
        (tmp_path / f"{yaml.safe_load(example)['name']}.yaml").write_text(example)
    routes = load_routes(tmp_path)
    assert {name: each.target.kind for name, each in routes.items()} == {"on-call": "webhook", "here": "webhook"}
    assert len(examples) == len(routes)
    variables = {name: variables_of({name: each}) for name, each in routes.items()}
    assert variables["on-call"] == ["SUNDIAL_ALERT_PAGERDUTY_KEY", "SUNDIAL_ALERT_SHOP_KEY", "SUNDIAL_ALERT_SHOP_URL"]
    assert variables["here"] == ["SUNDIAL_ALERT_HERE_KEY", "SUNDIAL_ALERT_HERE_URL"]


def test_all_mistakes_are_named_at_once(tmp_path):
    (tmp_path / "wrong.yaml").write_text(WRONG)
    with pytest.raises(DeclarationError) as refused:
        load_routes(tmp_path)
    fields = [line.split(": ")[1] for line in str(refused.value).splitlines()]
    assert fields == [
        *("services", "severity", "wait", "timezone", "hours.0", "silences.0"),
        *("target.url", "escalation.target", "reminder", "remind"),
    ]


def test_a_feed_must_be_declared_and_there_may_be_no_route(tmp_path):
    assert load_routes(tmp_path) == {}
    target = {"kind": "slack", "url": "SUNDIAL_ALERT_X"}
    found = Route.model_validate({"name": "r", "description": "x", "feeds": ["nobody"], "target": target})
    assert list(found.unmet()) == ["feeds: no feed 'nobody' in schemas/feeds"]


@pytest.mark.parametrize(
    ("kind", "score", "minutes", "actual", "severity"),
    [
        ("deviation", 1.8, 0, 0, "warning"),
        ("deviation", 2.4, 0, 0, "error"),
        ("deviation", 3.0, 0, 0, "error"),
        ("deviation", 3.1, 0, 0, "critical"),
        ("deviation", 1.8, 9, 0, "warning"),
        ("deviation", 1.8, 10, 0, "error"),
        ("deviation", 1.8, 10, 50, "error"),
        ("deviation", 1.8, 10, 51, "warning"),
        ("deviation", 1.8, 10, 199, "warning"),
        ("deviation", 1.8, 10, 200, "error"),
        ("silence", 0.0, 0, None, "error"),
        ("group", 0.0, 0, None, "critical"),
    ],
)
def test_severity(kind, score, minutes, actual, severity):
    expected = None if actual is None else 100.0
    times = {"Start": "2026-11-23T12:00:00.000Z", "Last": f"2026-11-23T12:{minutes:02}:00.000Z"}
    assert severity_of({"Kind": kind, "Score": score, "Actual": actual, "Expected": expected} | times) == severity


def test_what_is_expected_below_zero_has_no_half_and_no_double():
    times = {"Start": "2026-11-23T12:00:00.000Z", "Last": "2026-11-23T12:30:00.000Z"}
    assert severity_of({"Kind": "deviation", "Score": 1.8, "Actual": 5.0, "Expected": -3.0} | times) == "warning"
