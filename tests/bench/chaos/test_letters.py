"""Each kind of wrong letter is found, and right ones are not."""

import hashlib
import time
from collections.abc import Mapping

import numpy as np
import pytest

from bench.chaos.kept import Kept, newest
from bench.chaos.ledger import Ledger
from bench.chaos.letters import Letters
from bench.chaos.records import Draft

MAGIC = b"first byte is not the Confluent magic byte 0"
BIG = b"\1" * 1_000_001


def letters(*drafts: Draft, known: Mapping[int, int] | None = None) -> Letters:
    ledger = Ledger()
    for offset, draft in enumerate(drafts):
        ledger.acknowledged(ledger.sends(draft), 0, offset, offset)
    return Letters(ledger.sent(), "calls", known=known)


JUNK = Draft(b"checkout", b"junk", "junk")
LARGE = Draft(b"checkout", BIG, "giant_value")


def letter(offset: int = 0, value: bytes | None = b"junk", reason: bytes = MAGIC, **other: bytes | None) -> tuple:
    headers = {"reason": reason, "topic": b"calls", "partition": b"0", "offset": str(offset).encode(), "key": b"checkout"}
    return f"calls-0-{offset}".encode(), value, headers | {name.replace("_", "-"): text for name, text in other.items()}


def judged(letters: Letters, *records: tuple) -> dict[str, int]:
    for each in records:
        letters.judge(*each)
    letters.missing()
    return dict(letters.findings.counts)


def large(**other: bytes | None) -> tuple:
    sizes = {"value_bytes": b"1000001", "value_sha256": hashlib.sha256(BIG).hexdigest().encode()}
    sizes |= {"key_bytes": b"8", "key_sha256": hashlib.sha256(b"checkout").hexdigest().encode()}
    reason = MAGIC + b"; more than 1,000,000 bytes: the letter has the first 1,000 of key and value"
    return letter(**({"value": BIG[:1000], "reason": reason} | sizes | other))


def test_right_letters_are_right_and_may_come_again():
    assert judged(letters(JUNK), letter(), letter()) == {}
    assert judged(letters(LARGE), large()) == {}


def test_a_large_record_without_a_key_has_no_size_of_one():
    without = letters(Draft(None, BIG, "giant_value"))
    assert judged(without, large(key=None, key_bytes=None, key_sha256=None)) == {}
    assert judged(letters(LARGE), large(key=None, key_bytes=None, key_sha256=None)) == {"wrong_original": 1}
    assert judged(letters(Draft(None, BIG, "giant_value")), large()) == {"wrong_original": 1}


def test_a_lost_letter_is_found():
    assert judged(letters(JUNK, JUNK), letter(1)) == {"missing_letter": 1}


def test_a_letter_of_a_good_record_is_found():
    assert judged(letters(Draft(b"checkout", b"junk", "good", ("checkout", 0, 0))), letter()) == {"letter_of_good": 1}


def test_a_record_that_came_before_its_schema_was_known_may_be_refused_and_is_judged_again():
    good, soon = Draft(b"checkout", b"junk", "good", ("checkout", 0, 0)), int(time.time() * 1000) + 60_000
    early = letter(reason=b"unknown schema id 7")
    met = letters(good, known={7: soon})
    assert judged(met, early, early) == {}
    assert met.early == 2
    assert judged(letters(good, known={7: soon - 120_000}), early) == {"letter_of_good": 1}, "sent later than that"
    assert judged(letters(good, known={8: soon}), early) == {"letter_of_good": 1}
    assert judged(letters(good, known={7: soon}), letter(reason=b"unknown schema id 7", value=b"no")) == {"wrong_original": 1}
    assert judged(letters(JUNK, known={7: soon}), early) == {"missing_letter": 1}, "its own letter is still due"
    assert judged(letters(JUNK, known={7: soon}), early, letter()) == {}


def test_a_letter_of_no_record_is_found():
    assert judged(letters(JUNK), letter(), letter(1)) == {"letter_of_nothing": 1}


def test_a_letter_under_another_key_is_found():
    key, *rest = letter()
    assert judged(letters(JUNK), letter(), (key + b"0", *rest)) == {"letter_of_nothing": 1}


def test_a_wrong_reason_is_found():
    assert judged(letters(JUNK), letter(reason=b"unknown schema id 7")) == {"wrong_reason": 1}


@pytest.mark.parametrize("other", [{"value": b"junk!"}, {"value": None}, {"key": b"login"}, {"key": None}])
def test_other_bytes_are_found(other):
    assert judged(letters(JUNK), letter(**other)) == {"wrong_original": 1}


@pytest.mark.parametrize(
    "other", [{"value_bytes": b"1"}, {"value_sha256": b"0"}, {"key_bytes": b"9"}, {"value": BIG[:999]}, {"value": BIG}]
)
def test_a_wrong_size_or_hash_of_a_large_record_is_found(other):
    assert judged(letters(LARGE), large(**other)) == {"wrong_original": 1}


def test_a_record_that_was_not_acknowledged_needs_no_letter():
    ledger = Ledger()
    ledger.sends(JUNK)
    assert judged(Letters(ledger.sent(), "calls")) == {}


def kept(*places: int, values: tuple[int, ...] = (5, 6)) -> dict[str, int]:
    """History of the instants `places`, where 1 and 2 of the service were sent with 5 and 6."""
    found = Kept(np.array([1, 2]), np.array([5, 6]), ["checkout"])
    found.judge(np.zeros(len(places), np.int64), np.array(places), np.array(values[: len(places)] + (0,) * (len(places) - 2)))
    found.missing()
    return dict(found.findings.counts)


def test_history_is_held_against_what_was_sent():
    assert kept(1, 2) == {}
    assert kept(1) == {"history_missing": 1}
    assert kept(1, 2, values=(5, 7)) == {"history_wrong": 1}
    assert kept(1, 2, 3) == {"history_unexpected": 1}
    assert kept(1, 2, 1) == {"history_twice": 1, "history_wrong": 1}


def test_what_came_last_is_the_newest():
    keys, values = newest(np.array([2, 1, 2, 3, 1]), np.array([5, 6, 7, 8, 9]))
    assert (keys.tolist(), values.tolist()) == ([1, 2, 3], [9, 7, 8])
