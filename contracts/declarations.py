"""What every declaration is: YAML read strictly, one file each, with every mistake of every file listed; and its topics."""

import re
import zoneinfo
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

SCHEMAS = Path(__file__).resolve().parent.parent / "schemas"

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")]
AvroName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
Duration = Annotated[str, Field(pattern=r"^[0-9]{1,6} (milliseconds?|seconds?|minutes?|hours?|days?)$")]
TopicName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,62}(\.[a-z][a-z0-9-]{0,62}){0,3}$")]


@cache
def _zones() -> set[str]:
    """To list them reads some six hundred files."""
    return zoneinfo.available_timezones()


def _known_zone(value: str) -> str:
    if value not in _zones():
        raise ValueError(f"no time zone {value!r} in the IANA database")
    return value


TimeZone = Annotated[str, AfterValidator(_known_zone)]
Encoding = Literal["avro", "json", "text", "access-log"]  # of a topic's values; the registry knows only Avro
UNITS = {"millisecond": 0.001, "second": 1, "minute": 60, "hour": 3600, "day": 86_400}  # of a duration, in seconds
LINES = ("text", "access-log")  # those whose values are lines of text, without a contract


def seconds_of(duration: str) -> float:
    """The seconds of a Duration."""
    number, unit = duration.split()
    return int(number) * UNITS[unit.removesuffix("s")]


class DeclarationError(ValueError):
    """One or more declarations are wrong; the message lists every mistake with its file and field."""


class Declared(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Declaration(Declared):
    """What one file declares; its name is the file's."""

    name: Name

    def unmet(self) -> Iterator[str]:
        """What the declaration relies on in the repository and does not find there, each as `field: what`."""
        yield from ()


@dataclass(frozen=True)
class Topic:
    """A topic that a declaration asks for."""

    name: str
    partitions: int
    retention_days: int | None  # None: for ever
    compacted: bool = False
    record: str | None = None  # contract of its values; None: no schema, as of dead letters
    key_record: str | None = None  # contract of its keys; None: no schema, UTF-8 text
    version: int | None = None  # newest of its record's versions that its values may have; None: the newest there is
    encoding: Encoding = "avro"
    grows: bool = False  # with its feed: it gets partitions though it is compacted, as each of its keys is of a short time


def dead_letter_topic(topic: str) -> str:
    """Where records go that can't be read from a topic, or written to it."""
    return f"{topic}.dead-letter"


def dead_letters(topic: str, retention_days: int | None) -> Topic:
    return Topic(dead_letter_topic(topic), 1, retention_days)


def no_contract(field: str, record: str | None, version: int | None = None) -> Iterator[str]:
    if record and not list((SCHEMAS / "avro" / record).glob(f"v{version or '*'}.avsc")):
        yield f"{field}: no schemas/avro/{record}/v{version or 1}.avsc"


D = TypeVar("D", bound=Declaration)


def load(folder: Path, kind: type[D]) -> dict[str, D]:
    """Every declaration in a folder by name. Raises DeclarationError listing all mistakes of all files."""
    found, mistakes = {}, []
    for file in sorted(folder.glob("*.yaml")):
        try:
            content = yaml.safe_load(file.read_text()) or {}
        except (yaml.YAMLError, ValueError) as error:  # ValueError: bytes that are no text, a date such as 2026-02-30
            mistakes.append(f"{file.name}: not YAML: {' '.join(str(error).split())}")
            continue
        declared, wrong = _read(kind, content)
        if declared and declared.name != file.stem:
            wrong.insert(0, f"name: is {declared.name!r}, must be the file's name {file.stem!r}")
        if declared and not wrong:
            found[declared.name] = declared
        mistakes.extend(f"{file.name}: {what}" for what in wrong)
    if not found and not mistakes:
        mistakes.append(f"{folder}: no {kind.__name__.lower()} declared (*.yaml)")
    if mistakes:
        raise DeclarationError("\n".join(mistakes))
    return found


def _read(kind: type[D], content: object) -> tuple[D | None, list[str]]:
    """A declaration, null where there is none, and all mistakes in it, each as `field: what`.

    The other fields are judged without the wrong ones, so that one mistake does not hide another. What this says of the wrong
    ones, by their names, comes from their absence and is left out.
    """
    try:
        declared = kind.model_validate(content)
    except ValidationError as error:
        mistakes = mistakes_of(error)
        wrong = {str(each["loc"][0]) for each in error.errors() if each["loc"]}
        rest = {name: value for name, value in content.items() if str(name) not in wrong} if isinstance(content, dict) else {}
        if isinstance(content, dict) and len(rest) < len(content):
            mistakes += [each for each in _read(kind, rest)[1] if not wrong & set(re.findall(r"\w+", each))]
        return None, mistakes
    return declared, list(declared.unmet())


def mistakes_of(error: ValidationError) -> list[str]:
    """Each as `field: what`."""
    return [_mistake(each) for each in error.errors()]


def _mistake(error: Mapping[str, Any]) -> str:
    field = ".".join(str(part) for part in error["loc"]) or "declaration"
    what = "no field is called so" if error["type"] == "extra_forbidden" else error["msg"].removeprefix("Value error, ")
    return f"{field}: {what}"
