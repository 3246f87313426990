"""Changes of a contract: what changed, who still reads whom, and which levels allow it."""

import json
from pathlib import Path

import pytest
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from hypothesis import given
from hypothesis import strategies as st

from contracts import avro
from contracts.avro import Level
from contracts.compatibility import Version, allowed, changes, obstacles, refusals
from contracts.declarations import SCHEMAS, DeclarationError

BACKWARD, FORWARD = {"BACKWARD", "BACKWARD_TRANSITIVE"}, {"FORWARD", "FORWARD_TRANSITIVE"}
ALL = set(Level)
MILLIS, MICROS = ({"type": "long", "logicalType": f"timestamp-{unit}"} for unit in ("millis", "micros"))


def field(name: str, type_="string", **more) -> dict:
    return {"name": name, "type": type_, **more}


def version(name: str, *fields: dict) -> Version:
    return Version(name, {"type": "record", "name": "reading", "namespace": "sundial", "fields": list(fields)})


def colours(*symbols: str, **more) -> dict:
    return {"type": "enum", "name": "colour", "symbols": list(symbols), **more}


def place(*fields: dict) -> list:
    return ["null", {"type": "record", "name": "place", "fields": list(fields)}]


@pytest.mark.parametrize(
    ("old", "new", "told", "levels", "why"),
    [
        ([], [field("B", default="x")], ['B: added, default "x"'], ALL, []),
        (
            [],
            [field("B")],
            ["B: added without a default"],
            FORWARD,
            ["B: readers of v2 need it (it has no default there), and records of v1 have none"],
        ),
        ([field("B", default="x")], [], ["B: removed; it had a default"], ALL, []),
        (
            [field("B")],
            [],
            ["B: removed; it had no default"],
            BACKWARD,
            ["B: readers of v1 need it (it has no default there), and records of v2 have none"],
        ),
        (
            [field("B", "int")],
            [field("B", "long")],
            ["B: int → long, widened"],
            BACKWARD,
            ["B: records of v2 hold long, readers of v1 take int"],
        ),
        (
            [field("B", ["null", "string"], default=None)],
            [field("B", "string", default="")],
            ["B: null or string → string, narrowed", 'B: default null → default ""'],
            FORWARD,
            ["B: records of v1 may hold null, readers of v2 take string"],
        ),
        (
            [field("B", "int")],
            [field("B", "string")],
            ["B: int → string, changed"],
            set(),
            ["B: records of v1 hold int, readers of v2 take string", "B: records of v2 hold string, readers of v1 take int"],
        ),
        (
            [field("B")],
            [field("C", aliases=["B"])],
            ["C: renamed from B by an alias: readers of old records find it, old readers do not"],
            BACKWARD,
            ["B: readers of v1 need it (it has no default there), and records of v2 have none"],
        ),
        (
            [field("B", MILLIS)],
            [field("B", MICROS)],
            ["B: long (timestamp-millis) → long (timestamp-micros), changed"],
            set(),
            [
                "B: records of v1 hold long (timestamp-millis), which readers of v2 take for long (timestamp-micros): "
                "Avro does not convert",
                "B: records of v2 hold long (timestamp-micros), which readers of v1 take for long (timestamp-millis): "
                "Avro does not convert",
            ],
        ),
        (
            [field("B", colours("RED"))],
            [field("B", colours("RED", "BLUE"))],
            ["B: enum colour (RED) → enum colour (RED, BLUE), widened"],
            BACKWARD,
            ["B: records of v2 may hold BLUE, which readers of v1 do not know and have no default for"],
        ),
        (
            [field("B", place(field("X", "int")))],
            [field("B", place(field("X", "int"), field("Y", "int")))],
            ["B.Y: added without a default"],
            FORWARD,
            ["B.Y: readers of v2 need it (it has no default there), and records of v1 have none"],
        ),
        (
            [field("B", {"type": "array", "items": "int"})],
            [field("B", {"type": "array", "items": "long"})],
            ["B: array of int → array of long, widened"],
            BACKWARD,
            ["B[]: records of v2 hold long, readers of v1 take int"],
        ),
        ([field("B", doc="x")], [field("B", doc="y")], [], ALL, []),
    ],
)
def test_each_kind_of_change_is_told_and_allowed_where_its_readers_can_read(old, new, told, levels, why):
    before, after = version("v1", field("A"), *old), version("v2", field("A"), *new)
    assert [f"{name}: {what}" for name, what in changes(before, after)] == told
    assert set(allowed(after, [before])) == levels
    assert [str(each) for each in refusals(Level.FULL, after, [before])] == why


def test_a_transitive_level_asks_all_earlier_versions_and_the_others_the_last():
    first, middle, last = version("v1"), version("v2", field("B", default="x")), version("v3", field("B"))
    assert refusals(Level.FULL, last, [first, middle]) == []
    assert [str(each) for each in refusals(Level.FULL_TRANSITIVE, last, [first, middle])] == [
        "B: readers of v3 need it (it has no default there), and records of v1 have none"
    ]
    assert set(allowed(last, [first, middle])) == ALL - {"BACKWARD_TRANSITIVE", "FULL_TRANSITIVE"}


def test_another_record_is_said_to_be_another():
    other = Version("v2", {"type": "record", "name": "other", "fields": []})
    assert [str(each) for each in obstacles(other, version("v1"))] == [
        "the record: records of v1 hold record reading, readers of v2 take record other"
    ]


def test_a_record_within_itself_comes_to_an_end():
    def tree(leaf: str) -> Version:
        return version(leaf, field("Value", leaf), field("Next", ["null", "reading"], default=None))

    assert obstacles(tree("long"), tree("int")) == []
    assert [each.field for each in obstacles(tree("int"), tree("long"))] == ["Value"]


PRIMITIVES = st.sampled_from(["null", "boolean", "int", "long", "float", "double", "bytes", "string"])
SIMPLE = PRIMITIVES | st.lists(st.sampled_from("ABC"), min_size=1, unique=True).map(lambda s: colours(*s))
TYPES = st.recursive(
    SIMPLE,
    lambda inner: (
        st.fixed_dictionaries({"type": st.just("array"), "items": inner})
        | st.fixed_dictionaries({"type": st.just("map"), "values": inner})
        | st.lists(PRIMITIVES, min_size=1, unique=True)
    ),
    max_leaves=3,
)


@st.composite
def versions(draw) -> Version:
    names = draw(st.lists(st.sampled_from("ABC"), unique=True))
    nullable = {name: draw(st.booleans()) for name in names}
    made = [field(n, ["null", "long"], default=None) if nullable[n] else field(n, _named(draw(TYPES), n)) for n in names]
    return version("v", *made)


def _named(avro_type, name: str):
    """Two enums of one schema must not have one name."""
    return json.loads(json.dumps(avro_type).replace('"colour"', f'"colour{name}"'))


@given(versions(), versions())
def test_there_is_an_obstacle_exactly_where_avros_own_library_says_so(reader, writer):
    verdict = ReaderWriterCompatibilityChecker().get_compatibility(reader.parsed, writer.parsed).compatibility
    assert (obstacles(reader, writer) == []) == (verdict is SchemaCompatibilityType.compatible)


def test_a_contract_that_says_nonsense_is_named_with_its_field(tmp_path, monkeypatch):
    monkeypatch.setattr(avro, "SCHEMAS", tmp_path)
    folder = tmp_path / "avro" / "reading"
    folder.mkdir(parents=True)
    assert avro.contract("reading").compatibility is Level.FULL
    (folder / "contract.yaml").write_text("compatibility: SIDEWAYS\ncolour: red\n")
    with pytest.raises(DeclarationError) as error:
        avro.contract("reading")
    assert [line.split(": ")[:2] for line in str(error.value).splitlines()] == [
        ["schemas/avro/reading/contract.yaml", "compatibility"],
        ["schemas/avro/reading/contract.yaml", "colour"],
    ]
    (folder / "contract.yaml").write_text("compatibility: BACKWARD")
    assert avro.contract("reading").compatibility is Level.BACKWARD


RECORDS = sorted(folder.name for folder in (SCHEMAS / "avro").iterdir())


def declared(file: Path) -> Version:
    return Version(file.stem, json.loads(file.read_text()))


@pytest.mark.parametrize("record", RECORDS)
def test_the_versions_of_every_contract_are_what_its_level_allows(record):
    made = [declared(file) for file in avro.versions(record)]
    level = avro.contract(record).compatibility
    assert [refusals(level, each, made[:at]) for at, each in enumerate(made)] == [[] for _ in made]
