"""The folds of events into tables, the page that says what needs a person, and the report's verdict."""

import json
from collections import Counter

import pytest

from bench.chaos import counted, tables
from bench.chaos.judged import Verdict
from bench.chaos.needs import Page
from bench.chaos.plan import FAULT, Event
from bench.chaos.report import Outcome, broken
from bench.chaos.run import PAGE
from bench.chaos.verify import Findings


class Record:
    """As much of Kafka's record as a fold reads."""

    def __init__(self, key: bytes | None, **value: object):
        self._key, self._value = key, value

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes:
        return json.dumps(self._value).encode()


def test_products_are_what_the_last_changes_leave():
    put = {"op": "PUT", "name": "n"}
    log = [Record(b"a", **put, price=1), Record(b"b", **put, price=2), Record(b"a", op="DELETE"), Record(b"b", **put, price=3)]
    assert tables.products(log) == {b"b": {"Product": "b", "Name": "n", "Price": 3}}


def test_the_newest_check_in_counts_in_any_order_and_notation():
    log = [
        Record(None, User="u", Place="b", At=2000),
        Record(None, User="u", Place="c", At=2000),
        Record(None, User="u", Place="z", At="1970-01-01T00:00:01.000+00:00"),
    ]
    assert tables.last_check_ins(log) == {b"u": {"User": "u", "Place": "c", "At": 2000}}


@pytest.mark.parametrize("has", [{}, {b"a": {"x": 2}}, {b"a": {"x": 1}, b"b": {"x": 1}}])
def test_a_wrong_table_is_found(has):
    findings = Findings()
    tables.compare("products", {b"a": {"x": 1}}, has, findings)
    assert findings.counts == {"table_wrong": 1}


class Line(Record):
    def value(self) -> bytes:
        return f'h - - [{self._value["at"]}] "GET {self._value["path"]} HTTP/1.0" 200 1'.encode()


def test_lines_count_for_the_first_segment_of_their_path():
    at = "01/Jan/1970:00:00:19 +0000"
    lines = [Line(None, at=at, path=path) for path in ("/shuttle/a", "/shuttle/", "/elsewhere", "/")]
    assert counted.of_lines(lines) == {("shuttle", 10_000): 2, ("other", 10_000): 2}


@pytest.mark.parametrize(
    ("readings", "late", "wrong"),
    [
        ([("a", 0, 3)], [], {}),
        ([("a", 0, 3), ("a", 0, 3)], [], {}),
        ([("a", 0, 3), ("b", 0, 0)], [], {}),
        ([("a", 0, 2)], [("a", 0, 1)], {}),
        ([("a", 0, 2)], [], {"counted_wrong": 1}),
        ([("a", 0, 4)], [], {"counted_wrong": 1}),
        ([], [], {"counted_wrong": 1}),
        ([("a", 0, 3), ("b", 0, 1)], [], {"counted_wrong": 1}),
        ([("a", 0, 3), ("a", 0, 2)], [], {"counted_twice": 1}),
    ],
)
def test_what_is_counted_is_held_against_the_lines(readings, late, wrong):
    findings = Findings()
    counted.compare(Counter({("a", 0): 3}), readings, late, findings)
    assert findings.counts == wrong


def test_the_page_names_what_it_names():
    page = Page(PAGE)
    assert page.names("ERROR Kafka at 127.0.0.1:9 does not answer: start the brokers or correct SUNDIAL_KAFKA.")
    assert page.names("gate refused candidate 3 of service-use, the baseline in force is unchanged: x")
    assert not page.names("java.lang.IllegalStateException: something that nobody has thought of")


def test_a_promise_is_broken_by_a_finding_or_by_an_event():
    findings, event = Findings(), Event(1.0, FAULT, "kill", "kafka")
    verdict = Verdict("calls", findings)
    assert not broken([verdict], [Outcome(event, 3.0, 2.0)])
    assert broken([verdict], [Outcome(event, problem="TimeoutError: it did not come back")]) == {"problem": 1}
    findings.add("missing", "reading 'checkout' at 0")
    assert broken([verdict], []) == {"missing": 1}
