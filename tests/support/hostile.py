"""Input that means harm: bytes that are almost a record in the Confluent wire format, and text that would be more than text."""

import io
import json
import os
import random
from functools import cache
from typing import Any

import fastavro
from fastavro.types import Schema
from hypothesis import Phase, find, given, seed, settings
from hypothesis import strategies as st

from contracts import avro

TEXTS = {
    "markup": "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">",
    "end of an element": "</textarea></title></style></script><b>",
    "quotes": "\"' onmouseover='document.title=1' `${document.title=1}` &quot; &#39;",
    "entities": "&lt;b&gt; & &amp;amp; &nbsp;",
    "right to left": "\u202eevil\u202c \u05e9\u05dc\u05d5\u05dd \u2066x\u2069",
    "control characters": "a\x00b\x08c\x1b[31md\x7fe\u2028f\u2029g",
    "long": "x" * 10_000,
    "formula": '=HYPERLINK("http://elsewhere.example")',
    "template": "{{7*7}} ${7*7} %s %(a)s {0} ../../etc/passwd",
}
INT, LONG = (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1)
NUMBERS = {"int": st.integers(*INT), "long": st.integers(*LONG), "double": st.floats(), "float": st.floats(width=32)}
SIMPLE = {"null": st.none(), "boolean": st.booleans(), "string": st.text(), "bytes": st.binary(), **NUMBERS}


def plain(schema: dict) -> dict:
    """A schema with numbers where it has times, so that no value on the wire is beyond what its reader can hold."""
    return json.loads(json.dumps(schema).replace('"logicalType"', '"unit"'))


@cache
def parsed(schema: str) -> Schema:
    """The plain schema, ready for fastavro."""
    return fastavro.parse_schema(plain(json.loads(schema)))


def values(schema: Any) -> st.SearchStrategy:
    """Values of a plain schema."""
    if isinstance(schema, list):
        return st.one_of(*map(values, schema))
    if isinstance(schema, str):
        return SIMPLE[schema]
    if schema["type"] == "record":
        return st.fixed_dictionaries({field["name"]: values(field["type"]) for field in schema["fields"]})
    if schema["type"] == "array":
        return st.lists(values(schema["items"]), max_size=4)
    return values(schema["type"])


def varint(number: int) -> bytes:
    """As Avro writes a long, and a length."""
    rest, out = (number << 1) ^ (number >> 63), bytearray()
    while rest > 127:
        out.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*out, rest])


def written(schema: dict, value: dict) -> bytes:
    """Avro of a value of the plain schema."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed(json.dumps(schema)), value)
    return out.getvalue()


def smallest(schema: dict) -> dict:
    """A value of the plain schema: zeros, empty texts."""
    return find(values(plain(schema)), lambda _: True)


def drawn(strategy: st.SearchStrategy) -> list:
    """A corpus where one example at a time would cost too much: ten times as many as a test of the profile has examples.

    The seed is in the output of a failing test, and SUNDIAL_TEST_SEED sets it.
    """
    found, number = [], int(os.environ.get("SUNDIAL_TEST_SEED") or random.randrange(2**32))
    print(f"SUNDIAL_TEST_SEED={number}")

    @seed(number)
    @settings(max_examples=10 * settings.default.max_examples, database=None, phases=[Phase.generate])
    @given(strategy)
    def draw(value):
        found.append(value)

    draw()
    return found


def bodies(schema: dict) -> st.SearchStrategy[bytes]:
    """Avro of a schema, and what is almost so: cut, longer, with other bytes in it, with huge lengths, and no Avro at all."""
    good = values(plain(schema)).map(lambda value: written(schema, value))
    places = st.integers(0, 60)
    huge = st.sampled_from([2**20, 2**31 - 9, 2**31 - 1, 2**31, 2**40, 2**62, -1, -(2**31), -(2**62), -(2**63)]).map(varint)
    return st.one_of(
        good,
        st.builds(lambda value, end: value[:end], good, places),
        st.builds(bytes.__add__, good, st.binary(min_size=1, max_size=20)),
        st.builds(_replaced, good, places, st.binary(min_size=1, max_size=3)),
        st.builds(_replaced, good, places, huge),
        st.builds(lambda value, at, more: value[:at] + more + value[at:], good, places, huge),
        huge,
        st.binary(max_size=80),
    )


def _replaced(value: bytes, at: int, other: bytes) -> bytes:
    at %= len(value) or 1
    return value[:at] + other + value[at + len(other) :]


def payloads(schema: dict, schema_id: int) -> st.SearchStrategy[bytes]:
    """Kafka values: `bodies` behind the header that names their schema, behind another header, or behind none."""
    header = st.just(avro.HEADER.pack(avro.MAGIC, schema_id))
    other = st.one_of(st.binary(max_size=avro.HEADER.size), st.integers(0, 2**32 - 1).map(lambda i: avro.HEADER.pack(0, i)))
    headers = st.one_of(header, header, header, header, other)
    return st.builds(bytes.__add__, headers, bodies(schema))
