"""Every record in schemas/avro has examples that it must accept, and examples that it must refuse for the reason they name."""

import io
import json

import fastavro
import pytest
from fastavro.validation import ValidationError

from contracts import avro
from contracts.declarations import SCHEMAS

RECORDS = sorted(folder.name for folder in (SCHEMAS / "avro").iterdir())
PASSING = sorted((SCHEMAS / "examples").glob("*/*.pass.json"))
FAILING = sorted((SCHEMAS / "examples").glob("*/*.fail.json"))


def _name(file):
    return f"{file.parent.name}/{file.name}"


def _write(record: str, value: dict) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, avro.parsed(record), value, strict=False)
    return out.getvalue()


@pytest.mark.parametrize("record", RECORDS)
def test_every_record_has_examples_of_both_kinds(record):
    assert [file for file in PASSING if file.parent.name == record]
    assert [file for file in FAILING if file.parent.name == record]


@pytest.mark.parametrize("file", PASSING, ids=_name)
def test_passing_example_survives_the_wire(file):
    value = json.loads(file.read_text())["record"]
    schema = avro.parsed(file.parent.name)
    fastavro.validate(value, schema, strict=True)
    plain = json.loads(json.dumps(avro.latest(file.parent.name)).replace('"logicalType"', '"unit"'))  # times stay numbers
    assert fastavro.schemaless_reader(io.BytesIO(_write(file.parent.name, value)), fastavro.parse_schema(plain)) == value


@pytest.mark.parametrize("file", FAILING, ids=_name)
def test_failing_example_is_refused_for_its_reason(file):
    example = json.loads(file.read_text())
    with pytest.raises(ValidationError) as refused:
        fastavro.validate(example["record"], avro.parsed(file.parent.name))
    assert example["reason"] in str(refused.value)
