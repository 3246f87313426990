"""What operators ask for, and what becomes of it."""

import datetime as dt
from typing import Annotated, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from contracts.exclusions import Kind
from serving.acts.through_airflow import State

INCIDENT, SPAN, STATEMENT = "incident", "from and to (and service, if not all are meant)", "statement"
NEEDS: dict[Kind, tuple[str, ...]] = {
    "acknowledge": (INCIDENT,),
    "false": (INCIDENT,),
    "exclude": (INCIDENT, SPAN),
    "note": (INCIDENT,),
    "take_back": (STATEMENT,),
}


def _one_line(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("must be one line of printable characters")
    return text


class ActInfo(BaseModel):
    """What was asked for: a run of a DAG."""

    dag: str
    run: str
    state: State = Field(description="success: it is done. failed: nothing has changed; the log of the run says why.")
    url: str = Field(description="The run's page in Airflow.")


Reason = Annotated[str, Field(min_length=1, max_length=500, description="One line."), AfterValidator(_one_line)]


class Answer(BaseModel):
    """A person's answer to the question whether a refused candidate is promoted nevertheless."""

    model_config = ConfigDict(extra="forbid")
    approve: bool
    reason: Annotated[Reason, Field(max_length=390)]  # the user's name is put before it; Airflow's form takes 500 characters


class Rollback(BaseModel):
    """An earlier version that is to be in force again."""

    model_config = ConfigDict(extra="forbid")
    version: Annotated[int, Field(ge=0, lt=2**31, description="Of the baseline, as its history names it.")]
    reason: Reason


class Replay(BaseModel):
    """Which dead letters go back to their topic, if they can be read by now."""

    model_config = ConfigDict(extra="forbid")
    reason: Annotated[str, Field(max_length=200, description="Only those whose reason contains this text; empty: all.")] = ""


class Switch(BaseModel):
    """Whether the stream shall run."""

    model_config = ConfigDict(extra="forbid")
    on: bool


class Said(BaseModel):
    """What a person says of an incident or of readings."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    verdict: Annotated[
        Kind,
        Field(
            description="acknowledge: the user looks after the incident. false: the incident is a false alarm. exclude: the"
            " readings are not normal. note: the reason is a text about the incident, and nothing follows from it."
            " take_back: an earlier statement no longer counts."
        ),
    ]
    incident: Annotated[str, Field(min_length=1, max_length=1100), AfterValidator(_one_line)] | None = None
    service: Annotated[
        Annotated[str, Field(min_length=1, max_length=1024)] | None, Field(description="Whose readings; null: of all services.")
    ] = None
    start: Annotated[AwareDatetime | None, Field(alias="from", description="The first moment to exclude.")] = None
    end: Annotated[AwareDatetime | None, Field(alias="to", description="The end; a reading at this moment stays.")] = None
    statement: Annotated[Annotated[int, Field(ge=1, lt=2**31)] | None, Field(description="The one to take back.")] = None
    reason: Reason

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        parts = {
            INCIDENT: self.incident is not None,
            SPAN: (self.start, self.end, self.service) != (None, None, None),
            STATEMENT: self.statement is not None,
        }
        needs = NEEDS[self.verdict]
        if [name for name, given in parts.items() if given] not in [[each] for each in needs]:
            raise ValueError(f"verdict {self.verdict} goes with {', or with '.join(needs)}, and with nothing else")
        if parts[SPAN] and (self.start is None or self.end is None or self.end <= self.start):
            raise ValueError("from and to are both needed, and to is after from")
        return self

    def conf(self) -> dict[str, str | int]:
        """As the DAG `judge_incident` takes it."""
        span = {name: _utc(at) for name, at in (("from", self.start), ("to", self.end)) if at}
        plain = self.model_dump(include={"verdict", "incident", "service", "statement", "reason"}, exclude_none=True)
        return plain | span


def _utc(instant: dt.datetime) -> str:
    return instant.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
