"""The rule of a feed's incidents: what it may say, and which rule a service has."""

import pytest
from pydantic import ValidationError

from contracts.incidents import THRESHOLD, USUAL, IncidentGroup, IncidentRule, Incidents
from jobs.transforms.detector import alarms, rules


def test_the_default_is_the_detectors_threshold():
    assert THRESHOLD == alarms.THRESHOLD
    assert IncidentRule().model_dump() == {
        "score": 1.8,
        "percent": None,
        "spread": None,
        "minimum": None,
        "persistence": "1 of 1",
        "silence": None,
    }


def test_without_a_spread_an_error_counts_from_the_detectors_two_scales_on():
    assert USUAL == rules.USUAL
    assert IncidentRule(score=None, spread=USUAL).score is None, "a rule of such errors alone is to be asked for"


def test_an_override_changes_what_it_names_and_the_last_rule_is_everyones():
    declared = Incidents.model_validate(
        {
            "score": 2.5,
            "silence": 6,
            "overrides": [{"services": "batch-.*", "rule": {"silence": None, "persistence": "3 of 5"}}],
        }
    )
    [(pattern, batch), (everyone, rule)] = declared.rules()
    assert (pattern, everyone) == ("batch-.*", ".*")
    assert (batch.score, batch.silence, batch.needed_within) == (2.5, None, (3, 5))
    assert (rule.score, rule.silence, rule.needed_within) == (2.5, 6, (1, 1))


def test_a_group_is_declared_for_the_feed_and_null_switches_it_off():
    assert Incidents().group == IncidentGroup(services=3, within=3)
    assert Incidents.model_validate({"group": {"services": 10}}).group == IncidentGroup(services=10, within=3)
    assert Incidents.model_validate({"group": None}).group is None


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ({"score": None}, "every reading with an error of 2 scales would open an incident; if you want that, set spread: 2"),
        ({"score": None, "minimum": 20}, "score is off, and percent and spread are not set"),
        ({"persistence": "5 of 3"}, "n of m goes with n <= m"),
        ({"persistence": "0 of 3"}, "String should match pattern"),
        ({"silence": 0}, "greater than or equal to 1"),
        ({"group": {"services": 1}}, "greater than or equal to 2"),
        ({"group": {"within": 0}}, "greater than or equal to 1"),
        ({"retired": ["("]}, "not a regular expression"),
        ({"forget_days": 0}, "greater than or equal to 1"),
        ({"overrides": [{"services": "a", "rule": {"group": None}}]}, "overrides of a: group: no field is called so"),
        ({"overrides": [{"services": "(", "rule": {}}]}, "not a regular expression"),
        ({"overrides": [{"services": "a", "rule": {"scores": 3}}]}, "overrides of a: scores: no field is called so"),
        ({"overrides": [{"services": "a", "rule": {"score": None}}]}, "percent and spread are not set"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_reason(declared, why):
    with pytest.raises(ValidationError, match=why):
        Incidents.model_validate(declared)
