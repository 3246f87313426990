"""When readings of a service are an incident, as a feed declares it."""

import re
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator

from contracts.declarations import DeclarationError, Declared, mistakes_of

THRESHOLD = 1.8  # score of an alarm; that of jobs/transforms/detector/alarms.py
USUAL = 2  # scales, below which an error is usual; that of jobs/transforms/detector/rules.py
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
    """Every condition that is on (not null) must hold for a deviation. A silence needs `silence` alone. The expected value is the
    detector's."""

    score: Annotated[float, Field(ge=0)] | None = THRESHOLD  # of the first reading, at least
    percent: Annotated[float, Field(ge=0)] | None = None  # abs(100 * Value / expected - 100) > percent
    spread: Annotated[float, Field(gt=0)] | None = None  # abs(Value - expected) >= spread * scale; null: USUAL
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
    def _not_usual_errors_alone(self) -> Self:
        if self.score is None and self.percent is None and self.spread is None:
            often = f"every reading with an error of {USUAL} scales would open an incident"
            raise ValueError(f"score is off, and percent and spread are not set: {often}; if you want that, set spread: {USUAL}")
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
        own = self.model_dump(include=set(IncidentRule.model_fields))
        wrong = [f"{each.services}: {what}" for each in self.overrides for what in _mistakes(own | each.rule)]
        if wrong:
            raise ValueError(f"overrides of {'; '.join(wrong)}")
        return self

    def rules(self) -> list[tuple[str, IncidentRule]]:
        """(pattern, rule), in the order in which they are tried; the last one matches every service."""
        own = self.model_dump(include=set(IncidentRule.model_fields))
        found = [(each.services, IncidentRule.model_validate(own | each.rule)) for each in self.overrides]
        return [*found, (".*", IncidentRule.model_validate(own))]

    def with_score(self, score: float) -> "Incidents":
        """The same rule with another score; overrides with a score of their own keep it."""
        return self.model_copy(update={"score": score})

    def declared(self) -> str:
        """As YAML to paste into a feed's declaration: what differs from the defaults, and the score."""
        part = {"score": self.score} | self.model_dump(mode="json", exclude_defaults=True)
        return yaml.safe_dump({"incidents": part}, sort_keys=False, allow_unicode=True, width=120).strip()


class _RuleFile(Declared):
    incidents: Incidents


def load_rule(file: Path) -> Incidents:
    """The rule of a YAML file that has the part `incidents` of a feed's declaration. Raises DeclarationError listing all mistakes
    with file and field."""
    try:
        return _RuleFile.model_validate(yaml.safe_load(file.read_text(encoding="utf-8"))).incidents
    except ValidationError as error:
        raise DeclarationError("\n".join(f"{file}: {what}" for what in mistakes_of(error))) from error
    except OSError as error:
        raise DeclarationError(f"{file}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DeclarationError(f"{file}: not YAML: {' '.join(str(error).split())}") from error


def _mistakes(rule: dict[str, Any]) -> list[str]:
    try:
        IncidentRule.model_validate(rule)
    except ValidationError as error:
        return mistakes_of(error)
    return []
