"""The classes of records: each is what its name says, and the same for the same seed."""

import io
import random

import fastavro
import numpy as np
import pytest

from bench.chaos import others, records
from bench.chaos.ledger import KINDS, REASONS, Ledger, cut, digest
from bench.chaos.records import DAY, LARGEST, MOST_BYTES, Readings, zigzag
from tests.support import hostile

NOW = 1_800_000_000_000
SCHEMA = fastavro.parse_schema(
    {"type": "record", "name": "r", "fields": [{"name": "Timestamp", "type": "long"}, {"name": "Value", "type": "long"}]}
)


def readings(kinds=records.REASONS, seed: int = 7) -> Readings:
    normal = {"checkout": np.arange(8640), "login": np.arange(8640)}
    return Readings(
        seed, normal, 10, NOW - NOW % DAY, NOW, 14, 400, 256, {3: b"", 9: b"\x08"}, ["<b>", "a\x00b"], frozenset(kinds)
    )


def decoded(value: bytes) -> dict:
    rest = io.BytesIO(value[5:])
    found = fastavro.schemaless_reader(rest, SCHEMA)
    assert rest.read() == {3: b"", 9: b"\x08"}[int.from_bytes(value[1:5], "big")]
    return found


def test_the_seed_decides_every_record():
    assert readings().drafts(5000) == readings().drafts(5000)
    assert readings().drafts(500) != readings(seed=8).drafts(500)


def test_a_schema_that_comes_to_be_known_changes_no_choice():
    steady, growing = readings(), readings()
    first = growing.drafts(100)
    growing.ids[11] = b"\x0a"
    chosen = [(draft.kind, draft.reading) for draft in first + growing.drafts(400)]
    assert chosen == [(draft.kind, draft.reading) for draft in steady.drafts(500)]


@pytest.mark.parametrize("kind", records.GOOD)
def test_a_good_record_is_the_reading_that_it_says(kind):
    base = readings([kind, "good"]).drafts(300)
    assert kind in {draft.kind for draft in base}
    for draft in base:
        service, at, value = draft.reading
        assert draft.key == service.encode()
        assert len(draft.key) <= 256
        assert decoded(draft.value) == {"Timestamp": at, "Value": value}
        assert value >= 0
        assert NOW - 399 * DAY < at < NOW + 14 * DAY


def test_good_readings_are_of_instants_of_their_own():
    drafts = readings(["good"]).drafts(3 * 2 * 8640)
    assert len({draft.reading[:2] for draft in drafts}) == len(drafts)


@pytest.mark.parametrize("kind", records.LETTERS)
def test_a_letter_is_due_for_no_reading_and_fits_into_the_broker(kind):
    for draft in readings([kind]).drafts(5 if "giant" in kind else 200):
        assert draft.kind == kind
        assert draft.reading is None
        size = len(draft.key or b"") + len(draft.value or b"")
        assert size <= LARGEST + 300
        assert (size > MOST_BYTES) == (kind in ("giant_key_cut", "giant_value")) == (cut(draft.key, draft.value) is not None)


@pytest.mark.parametrize("kind", ["truncated", "mutated", "huge_number"])
def test_what_is_no_avro_cannot_be_read(kind):
    for draft in readings([kind]).drafts(200):
        with pytest.raises((EOFError, ValueError, IndexError, AssertionError)):
            decoded(draft.value)


@pytest.mark.parametrize(("kind", "low", "high"), [("microseconds", 10**15, 10**16), ("seconds", 0, 10**10)])
def test_units_are_confused(kind, low, high):
    assert all(low < decoded(draft.value)["Timestamp"] < high for draft in readings([kind]).drafts(50))


def test_not_utf8_is_not_utf8():
    for draft in readings(["not_utf8"]).drafts(50):
        with pytest.raises(UnicodeDecodeError):
            draft.key.decode()


@pytest.mark.parametrize("number", [0, -1, 1, 63, 64, -65, 2**62, -(2**62), 2**63 - 1, -(2**63)])
def test_zigzag_is_as_avro_writes_it(number):
    assert zigzag(number) == hostile.varint(number)


OTHERS = {
    name: draw
    for each in ("events", "access-log", "rides", "metrics", "migrations")
    for name, draw in others.topics(1, each, ["<b>"], lambda subject: 7)
}


@pytest.mark.parametrize("topic", OTHERS)
def test_each_class_of_the_other_topics_is_drawn(topic):
    drafts = OTHERS[topic](20_000)
    assert {draft.kind.partition("_")[0] for draft in drafts} in ({"event"}, {"change"}, {"line"}, {"row"})
    assert {draft.kind for draft in drafts} <= set(REASONS)
    for draft in drafts:
        assert len(draft.key or b"") + len(draft.value or b"") <= LARGEST


def test_the_digest_is_of_key_and_value_apart():
    pairs = [(None, b"ab"), (b"", b"ab"), (b"a", b"b"), (b"ab", None), (b"ab", b""), (b"2:ab", b"")]
    assert len({digest(*pair) for pair in pairs}) == len(pairs)


def test_a_ledger_gives_back_what_was_sent():
    ledger, chance = Ledger(), random.Random(1)
    drafts = readings().drafts(500)
    places = [(chance.randrange(2), number, 1000 + number) for number in range(len(drafts))]
    for draft, place in zip(drafts, places, strict=True):
        ledger.acknowledged(ledger.sends(draft), *place)
    sent = ledger.sent()
    assert list(zip(sent.partition.tolist(), sent.offset.tolist(), sent.taken.tolist(), strict=True)) == places
    assert [KINDS[kind] for kind in sent.kind.tolist()] == [draft.kind for draft in drafts]
    of = [
        (sent.names[number], at, value) if number >= 0 else None
        for number, at, value in zip(sent.service, sent.at, sent.value, strict=True)
    ]
    assert of == [draft.reading for draft in drafts]
    giants = [number for number, draft in enumerate(drafts) if cut(draft.key, draft.value)]
    some = sent.where(np.isin(np.arange(len(drafts)), [*giants, 0]))
    assert list(some.cuts.values()) == [cut(drafts[number].key, drafts[number].value) for number in giants]
