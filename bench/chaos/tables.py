"""The tables that queries keep of events, computed a second time in plain Python from the records of the topics."""

import datetime as dt
import json
from collections.abc import Callable, Iterable

import numpy as np
from confluent_kafka import Message

from bench.chaos import read
from bench.chaos.ledger import KINDS, Places, Sent
from bench.chaos.verify import Findings

GOOD = ("event", "change", "change_deletes")
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
    good = Places(sent.where(np.isin(sent.kind, [KINDS.index(kind) for kind in GOOD])))
    right = fold(each for each in _all(kafka, topic) if good.row(each.partition(), each.offset()) >= 0)
    found = {each.key(): each.value() for each in _all(kafka, name)}
    has = {key: _row(value) for key, value in found.items() if value is not None}
    compare(name, right, has, findings)
    return len(has)


def compare(name: str, right: Table, has: Table, findings: Findings) -> None:
    for key in sorted(right.keys() | has.keys()):
        if right.get(key) != has.get(key):
            findings.add("table_wrong", f"{name} has {has.get(key)} of {key!r}, must have {right.get(key)}")


def _all(kafka: str, topic: str) -> Iterable[Message]:
    return (message for batch in read.messages(kafka, topic) for message in batch)


def _row(value: bytes) -> dict:
    row = json.loads(value)
    return row | {"At": _millis(row["At"])} if "At" in row else row


def _millis(at: int | str) -> int:
    return at if isinstance(at, int) else round(dt.datetime.fromisoformat(at).timestamp() * 1000)
