"""When readings of a service are an incident, as a feed declares it."""

import re
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from contracts.declarations import Declared

THRESHOLD = 1.8  # score of an alarm; that of jobs/transforms/detector/alarms.py
MOST_READINGS = 1000  # that persistence looks at, and without which a service is silent


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return text


# Of services: a regular expression that a service's whole name matches.
Pattern = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_pattern)]
Persistence = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,3} of [1-9][0-9]{0,3}$")]


class IncidentRule(Declared):
    """Every condition that is on (not null) must hold. The expected value is the detector's."""

    score: Annotated[float, Field(ge=0)] | None = THRESHOLD  # of the first reading, at least
    percent: Annotated[float, Field(ge=0)] | None = None  # abs(100 * Value / expected - 100) > percent
    spread: Annotated[float, Field(gt=0)] | None = None  # abs(Value - expected) >= spread * scale; null: 2
    minimum: Annotated[float, Field(ge=0)] | None = None  # Value or expected is at least minimum
    persistence: Persistence = "1 of 1"  # n of m: of the first m readings n must be unusual
    silence: Annotated[int, Field(ge=1, le=MOST_READINGS)] | None = None  # intervals without a reading that are an incident

    @field_validator("persistence")
    @classmethod
    def _possible(cls, value: str) -> str:
        needed, within = map(int, value.split(" of "))
        if not needed <= within <= MOST_READINGS:
            raise ValueError(f"{value}: n of m goes with n <= m <= {MOST_READINGS}")
        return value

    @model_validator(mode="after")
    def _not_all_off(self) -> Self:
        if self.score is None and self.percent is None and self.spread is None:
            raise ValueError("score, percent and spread are all off: every reading would be an incident")
        return self

    @property
    def needed_within(self) -> tuple[int, int]:
        """The two numbers of `persistence`."""
        needed, within = map(int, self.persistence.split(" of "))
        return needed, within


class IncidentOverride(Declared):
    """What of the rule is different for some services; what it leaves out is as the feed declares it."""

    services: Pattern
    rule: dict[str, Any]


class IncidentGroup(Declared):
    """Incidents of so many services whose onsets lie within so many intervals are one group."""

    services: Annotated[int, Field(ge=2)] = 3
    within: Annotated[int, Field(ge=1, le=MOST_READINGS)] = 3  # intervals


class Incidents(IncidentRule):
    """The rule of a feed's services, and of some of them another one: the first whose pattern matches. What is a group. Services
    that are gone."""

    group: IncidentGroup | None = IncidentGroup()  # null: each incident stands alone
    retired: tuple[Pattern, ...] = ()  # services that may stop, and have no incidents
    forget_days: Annotated[int, Field(ge=1)] = 56  # without a reading, after which a service that comes again is new
    overrides: tuple[IncidentOverride, ...] = ()

    @model_validator(mode="after")
    def _overrides_are_rules(self) -> Self:
        self.rules()
        return self

    def rules(self) -> list[tuple[str, IncidentRule]]:
        """(pattern, rule), in the order in which they are tried; the last one matches every service."""
        own = self.model_dump(include=set(IncidentRule.model_fields))
        found = [(each.services, IncidentRule.model_validate(own | each.rule)) for each in self.overrides]
        return [*found, (".*", IncidentRule.model_validate(own))]
