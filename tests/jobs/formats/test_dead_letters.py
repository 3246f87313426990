"""Dead letters keep their record whole up to a size; of a larger one they keep the beginning, and say where it is."""

import hashlib

import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F

from jobs.formats import dead_letters


def letter_of(spark, key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes]] | None = None) -> Row:
    columns = f"Error string, Key binary, Bytes binary, KafkaPartition int, KafkaOffset long, Headers {dead_letters.HEADERS}"
    row = ("wrong", key and bytearray(key), value and bytearray(value), 3, 14, headers)
    return spark.createDataFrame([row], columns).select(dead_letters.letter("use", F.col("Headers"))).first()


@pytest.mark.parametrize(
    ("key", "value", "headers"),
    [
        (b"k", b"v" * 1_048_400, None),
        (b"k" * 1_048_400, b"v", None),
        (b"k" * 1_048_400, None, None),
        (b"k" * 500_000, b"v" * 500_001, None),
        (b"k", b"v", [("trace", bytearray(1_000_000))]),
        (b"k", b"v", [("é" * 500_001, None)]),
        (b"k", b"v", [("n", None)] * 200_000),
    ],
)
def test_a_record_that_is_too_large_for_a_letter_leaves_one_that_says_where_it_is(spark, key, value, headers):
    letter = letter_of(spark, key, value, headers)
    found = {each.key: each.value and bytes(each.value) for each in letter.headers}
    reason = "wrong; more than 1,000,000 bytes: the letter has the first 1,000 of key and value"
    assert found == {
        "reason": reason.encode(),
        "topic": b"use",
        "partition": b"3",
        "offset": b"14",
        "key": key[:1000],
        "key-bytes": str(len(key)).encode(),
        "key-sha256": hashlib.sha256(key).hexdigest().encode(),
        "value-bytes": value and str(len(value)).encode(),
        "value-sha256": value and hashlib.sha256(value).hexdigest().encode(),
    }
    assert (letter.value and bytes(letter.value)) == (value and value[:1000])


def test_the_largest_record_that_a_letter_keeps_is_kept_whole(spark):
    letter = letter_of(spark, b"k" * 10, b"v" * 999_974, [("trace", bytearray(b"12345"))])
    assert bytes(letter.value) == b"v" * 999_974
    assert {each.key for each in letter.headers} == {*dead_letters.LETTER, "trace"}
