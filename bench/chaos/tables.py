"""The tables that queries keep of events, computed a second time in plain Python from the records of the topics."""

import datetime as dt
import json
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from confluent_kafka import Message

from bench.chaos import counted, read, results
from bench.chaos.ledger import KINDS, Places, Sent
from bench.chaos.verify import Findings

GOOD = ("event", "change", "change_deletes", "line", "row")
LINES, COUNTED = "access-log", "web-requests"  # a log, and a feed that counts it
Table = dict[bytes, dict]


def last_check_ins(records: Iterable[Message]) -> Table:
    """By user the newest check-in; of two of one instant, the one of the greater place."""
    newest: dict[bytes, tuple[int, str]] = {}
    for each in records:
        row = json.loads(each.value())
        user = row["User"].encode()
        newest[user] = max(newest.get(user, (0, "")), (_millis(row["At"]), row["Place"]))
    return {user: {"User": user.decode(), "Place": place, "At": at} for user, (at, place) in newest.items()}


def products(records: Iterable[Message]) -> Table:
    """What the changes leave, in the order of the topic's only partition."""
    left: Table = {}
    for each in records:
        row = json.loads(each.value())
        if row["op"] == "DELETE":
            left.pop(each.key(), None)
        else:
            left[each.key()] = {"Product": each.key().decode(), "Name": row["name"], "Price": row["price"]}
    return left


# By the topic that is read: the topic of the table, and how it follows.
FOLDS: dict[str, tuple[str, Callable[[Iterable[Message]], Table]]] = {
    "check-ins": ("check-ins.last", last_check_ins),
    "product-changes": ("products", products),
}


def judge(kafka: str, topic: str, sent: Sent, findings: Findings) -> int:
    """Add each row of the topic's table that is missing, wrong, or should not be; how many rows there are."""
    name, fold = FOLDS[topic]
    right = fold(_good(kafka, topic, sent))
    found = {each.key(): each.value() for each in _all(kafka, name)}
    has = {key: _row(value) for key, value in found.items() if value is not None}
    compare(name, right, has, findings)
    return len(has)


def compare(name: str, right: Table, has: Table, findings: Findings) -> None:
    for key in sorted(right.keys() | has.keys()):
        if right.get(key) != has.get(key):
            findings.add("table_wrong", f"{name} has {has.get(key)} of {key!r}, must have {right.get(key)}")


def count(kafka: str, topic: str, sent: Sent, findings: Findings) -> int:
    """Add each reading that was not counted rightly from the lines; how many readings there are."""
    lines = counted.of_lines(_good(kafka, topic, sent))
    readings, late = (counted.of_readings(_all(kafka, name)) for name in (COUNTED, f"{COUNTED}.late"))
    return counted.compare(lines, readings, late, findings)


def results_of(kafka: str, topic: str, applications: Iterable[str], sent: Sent, findings: Findings) -> dict[str, int]:
    """Add what the applications that read the topic have made wrongly of it; by name how many results there are."""
    due = [results.JUDGES[each] for each in applications if each in results.JUDGES and results.JUDGES[each][0] == topic]
    return {name: judge_(_good(kafka, topic, sent), partial(_all, kafka), findings) for _, name, judge_ in due}


def _good(kafka: str, topic: str, sent: Sent) -> Iterable[Message]:
    """The topic's records that are of a good class."""
    good = Places(sent.where(np.isin(sent.kind, [KINDS.index(kind) for kind in GOOD])))
    return (each for each in _all(kafka, topic) if good.row(each.partition(), each.offset()) >= 0)


def _all(kafka: str, topic: str) -> Iterable[Message]:
    return (message for batch in read.messages(kafka, topic) for message in batch)


def _row(value: bytes) -> dict:
    row = json.loads(value)
    return row | {"At": _millis(row["At"])} if "At" in row else row


def _millis(at: int | str) -> int:
    return at if isinstance(at, int) else round(dt.datetime.fromisoformat(at).timestamp() * 1000)
