"""What a change of a contract means: field by field, for who reads what the other version wrote, and for compatibility levels.

Avro's rules of schema resolution, as its own library has them, say whether a reader can read; here is found which field is at
fault and why. One rule is stricter than Avro's: where both versions say what a number stands for
(`logicalType`), they must agree.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from avro.compatibility import (
    ReaderWriterCompatibilityChecker,
    SchemaCompatibilityType,
    lookup_writer_field,
    schema_name_equals,
)
from avro.schema import Field, Schema, parse

from contracts.avro import Level


@dataclass(frozen=True)
class Version:
    """A schema and what to call it."""

    name: str
    schema: dict[str, Any]

    @property
    def parsed(self) -> Schema:
        return parse(json.dumps(self.schema))


@dataclass(frozen=True)
class Obstacle:
    """Why readers of one version do not get what records of another hold in a field (empty: the record itself)."""

    field: str
    why: str

    def __str__(self) -> str:
        return f"{self.field or 'the record'}: {self.why}"


def refusals(level: Level, new: Version, earlier: Sequence[Version]) -> list[Obstacle]:
    """Why a level does not allow a version after earlier ones (oldest first)."""
    found = []
    for old in earlier if level.transitive else earlier[-1:]:
        found += obstacles(new, old) if level.backward else []
        found += obstacles(old, new) if level.forward else []
    return found


def allowed(new: Version, earlier: Sequence[Version]) -> list[Level]:
    return [level for level in Level if not refusals(level, new, earlier)]


def obstacles(reader: Version, writer: Version) -> list[Obstacle]:
    """What keeps readers of one version from reading the records of another; none if nothing does."""
    return [
        Obstacle(field, why.format(reader=f"readers of {reader.name}", writer=f"records of {writer.name}"))
        for field, why in _between(reader.parsed, writer.parsed, "", set())
    ]


def _between(reader: Schema, writer: Schema, path: str, seen: set[tuple[int, int]]) -> Iterator[tuple[str, str]]:
    for branch in _branches(writer):
        counterpart = _counterpart(reader, branch)
        if counterpart is None:
            yield from _leaf(reader, branch, path, "may hold" if writer.type == "union" else "hold")
            continue
        if (id(counterpart), id(branch)) in seen:  # a record within itself
            continue
        seen.add((id(counterpart), id(branch)))
        if branch.type == "record":
            yield from _fields(counterpart, branch, path, seen)
        elif branch.type == "array":
            yield from _between(counterpart.items, branch.items, f"{path}[]", seen)
        else:
            yield from _between(counterpart.values, branch.values, f"{path}{{}}", seen)


def _fields(reader: Schema, writer: Schema, path: str, seen: set[tuple[int, int]]) -> Iterator[tuple[str, str]]:
    for field in reader.fields:
        at = f"{path}.{field.name}".lstrip(".")
        written = lookup_writer_field(writer, field)
        if written is not None:
            yield from _between(field.type, written.type, at, seen)
        elif not field.has_default:
            yield at, "{reader} need it (it has no default there), and {writer} have none"


def _counterpart(reader: Schema, writer: Schema) -> Schema | None:
    """What reads a record, array or map, for the fields or values in it to be compared one by one."""
    if writer.type not in ("record", "array", "map"):
        return None
    same = (branch for branch in _branches(reader) if branch.type == writer.type)
    return next((branch for branch in same if writer.type != "record" or schema_name_equals(branch, writer)), None)


def _leaf(reader: Schema, writer: Schema, path: str, hold: str) -> Iterator[tuple[str, str]]:
    verdict = ReaderWriterCompatibilityChecker().get_compatibility(reader, writer)
    if verdict.compatibility is SchemaCompatibilityType.compatible:
        unlike = [_logical(branch) for branch in _branches(reader) if branch.type == writer.type]
        if _logical(writer) and unlike and unlike[0] and unlike[0] != _logical(writer):
            yield (
                path,
                f"{{writer}} {hold} {type_name(writer)}, which {{reader}} take for {type_name(reader)}: Avro does not convert",
            )
    elif reader.type == writer.type == "enum" and schema_name_equals(reader, writer):
        unknown = ", ".join(symbol for symbol in writer.symbols if symbol not in reader.symbols)
        yield path, f"{{writer}} may hold {unknown}, which {{reader}} do not know and have no default for"
    else:
        yield path, f"{{writer}} {hold} {type_name(writer)}, {{reader}} take {type_name(reader)}"


def changes(old: Version, new: Version) -> list[tuple[str, str]]:
    """Each field that is not as it was, and in which way."""
    return list(_changes(old.parsed, new.parsed, ""))


def _changes(old: Schema, new: Schema, path: str) -> Iterator[tuple[str, str]]:
    inner = _nested(old, new)
    if not inner:
        if _shape(old) != _shape(new):
            yield path, f"{type_name(old)} → {type_name(new)}, {_way(old, new)}"
        return
    old, new = inner
    before, kept = old.fields_dict, set()
    for field in new.fields:
        at = f"{path}.{field.name}".lstrip(".")
        earlier_field = lookup_writer_field(old, field)
        if earlier_field is None:
            yield at, f"added, default {json.dumps(field.default)}" if field.has_default else "added without a default"
            continue
        kept.add(earlier_field.name)
        if earlier_field.name != field.name:
            yield at, f"renamed from {earlier_field.name} by an alias: readers of old records find it, old readers do not"
        yield from _changes(earlier_field.type, field.type, at)
        if (earlier_field.has_default, earlier_field.default) != (field.has_default, field.default):
            yield at, f"{_default(earlier_field)} → {_default(field)}"
    for name, field in before.items():
        if name not in kept:
            yield f"{path}.{name}".lstrip("."), f"removed; it had {'a' if field.has_default else 'no'} default"


def _nested(old: Schema, new: Schema) -> tuple[Schema, Schema] | None:
    """The records to look into, where both are one, or one beside the same other branches."""
    records = [[branch for branch in _branches(each) if branch.type == "record"] for each in (old, new)]
    others = [[_shape(branch) for branch in _branches(each) if branch.type != "record"] for each in (old, new)]
    if [len(each) for each in records] == [1, 1] and others[0] == others[1] and schema_name_equals(records[1][0], records[0][0]):
        return records[0][0], records[1][0]
    return None


def _way(old: Schema, new: Schema) -> str:
    readable = not list(_between(new, old, "", set())), not list(_between(old, new, "", set()))
    return {(True, False): "widened", (False, True): "narrowed", (True, True): "each reads the other"}.get(readable, "changed")


def _default(field: Field) -> str:
    return f"default {json.dumps(field.default)}" if field.has_default else "no default"


def _branches(schema: Schema) -> list[Schema]:
    return list(schema.schemas) if schema.type == "union" else [schema]


def _logical(schema: Schema) -> str:
    """What a number or string stands for; empty where the schema does not say."""
    detail = [str(schema.props[name]) for name in ("precision", "scale") if name in schema.props]
    return " ".join([schema.props.get("logicalType", ""), *detail]) if "logicalType" in schema.props else ""


def _shape(schema: Schema) -> str:
    """A schema without its documentation."""
    return json.dumps(_undocumented(schema.to_json()), sort_keys=True)


def _undocumented(part: Any) -> Any:
    if isinstance(part, list):
        return [_undocumented(each) for each in part]
    return {name: _undocumented(value) for name, value in part.items() if name != "doc"} if isinstance(part, dict) else part


def type_name(schema: Schema) -> str:
    """A type in words."""
    if schema.type == "union":
        return " or ".join(type_name(branch) for branch in schema.schemas)
    if schema.type in ("array", "map"):
        return f"{schema.type} of {type_name(schema.items if schema.type == 'array' else schema.values)}"
    if schema.type in ("record", "enum", "fixed"):
        more = {"enum": lambda: f" ({', '.join(schema.symbols)})", "fixed": lambda: f" of {schema.size} bytes"}
        return f"{schema.type} {schema.name}{more.get(schema.type, str)()}"
    return f"{schema.type} ({_logical(schema)})" if _logical(schema) else schema.type
