"""Records for the topics of declared queries: JSON events, changes of products, lines of an access log. As `records` has them."""

import datetime as dt
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence

from bench.chaos import rows
from bench.chaos.records import Draft

NO_JSON = "^value is not a JSON object with the contract's types$"
NO_LINE = "^not a line of the Common or Combined Log Format$"
# By class: how often, and the reason of its letter.
CLASSES: dict[str, tuple[float, str | None]] = {
    "event": (300.0, None),
    "event_junk": (8.0, NO_JSON),
    "event_cut": (8.0, NO_JSON),
    "event_type": (6.0, NO_JSON),
    "event_and_more": (6.0, NO_JSON),
    "event_lacks": (6.0, "^the contract wants a value: [A-Za-z]+$"),
    "event_not_utf8": (6.0, "^value is not UTF-8 text$"),
    "event_no_value": (4.0, r"^no value \(tombstone\) where a record belongs$"),
    "event_microseconds": (4.0, NO_JSON),
    "event_giant": (0.05, "^value is not a JSON object with the contract's types; more than 1,000,000 bytes: "),
    "event_2099": (4.0, "^RowTime 2099.* is more than 1 hour ahead of the broker's clock"),
    "change": (300.0, None),
    "change_deletes": (60.0, None),
    "change_junk": (8.0, NO_JSON),
    "change_no_key": (6.0, "^no key$"),
    "change_not_utf8": (6.0, "^key is not UTF-8 text$"),
    "change_invalid": (8.0, "^not valid: op = 'DELETE' OR"),
    "change_no_value": (4.0, r"^no value \(tombstone\) where a record belongs$"),
    "line": (300.0, None),
    "line_junk": (8.0, NO_LINE),
    "line_cut": (8.0, NO_LINE),
    "line_no_time": (4.0, "^no such time: 99/Foo/2024"),
    "line_no_size": (4.0, "^no such size: 9{30}$"),
    "line_not_utf8": (6.0, "^value is not UTF-8 text$"),
    "line_no_value": (4.0, r"^no value \(tombstone\) where a line belongs$"),
    "line_ahead": (4.0, "^not valid: Timestamp <= RowTime"),
}
REASONS: dict[str, str | None] = {name: reason for name, (_, reason) in CLASSES.items()}
MINUTE = 60_000


def _drawn(seed: int, topic: str, makers: dict[str, Callable[[random.Random], Draft]]) -> Callable[[int], Sequence[Draft]]:
    chance, kind, names = random.Random(f"{seed} {topic}"), random.Random(f"{seed} kinds of {topic}"), list(makers)
    weights = [CLASSES[name][0] for name in names]

    def draw(count: int) -> Sequence[Draft]:
        return [makers[name](chance) for name in kind.choices(names, weights, k=count)]

    return draw


def _json(content: object) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode()


def events(seed: int, topic: str, fields: Callable[[random.Random, int], dict], texts: Sequence[str]) -> Callable:
    """JSON events with a field At. fields: the others, of the n-th event."""
    count = iter(range(1 << 60))

    def event(chance: random.Random) -> dict:
        at = int(time.time() * 1000) - chance.randrange(MINUTE)
        iso = dt.datetime.fromtimestamp(at / 1000, dt.UTC).isoformat(timespec="milliseconds")
        return fields(chance, next(count)) | {"At": chance.choice([at, iso])}

    def of(kind: str, change: Callable[[random.Random, dict], bytes | None]) -> Callable[[random.Random], Draft]:
        return lambda chance: Draft(chance.choice([None, b"any"]), change(chance, event(chance)), kind)

    def without(chance: random.Random, found: dict) -> bytes:
        lacks = chance.choice(list(found))
        return _json({name: value for name, value in found.items() if name != lacks})

    makers = {
        "event": of("event", lambda chance, found: _json(found)),
        "event_junk": of("event_junk", lambda chance, _: chance.choice([b"nonsense", b"[1]", b"{", *map(str.encode, texts)])),
        "event_cut": of("event_cut", lambda chance, found: _json(found)[: -1 - chance.randrange(9)]),
        "event_type": of("event_type", lambda chance, found: _json(found | {"At": {"no": "time"}})),
        "event_and_more": of(
            "event_and_more", lambda chance, found: _json(found) + chance.choice([b', "x": 1', b"}", b" {}", b" 1"])
        ),
        "event_lacks": of("event_lacks", without),
        "event_not_utf8": of("event_not_utf8", lambda chance, found: _json(found).replace(b'"At"', b'"\xff\xfe"')),
        "event_no_value": of("event_no_value", lambda chance, _: None),
        "event_microseconds": of("event_microseconds", lambda chance, found: _json(found | {"At": 1_700_000_000_000_000})),
        "event_giant": of("event_giant", lambda chance, _: b"x" * chance.randrange(1_000_010, 1_048_000)),
    }
    if topic in ("sensor-readings", "product-views"):  # of event time
        makers["event_2099"] = of("event_2099", lambda chance, found: _json(found | {"At": "2099-05-01T00:00:00Z"}))
    return _drawn(seed, topic, makers)


def changes(seed: int, topic: str) -> Callable:
    """A log of changes of products, by key."""

    def key(chance: random.Random) -> bytes:
        return f"product-{chance.randrange(200)}".encode()

    def put(chance: random.Random, **other: object) -> bytes:
        return _json({"op": "PUT", "name": f"n{chance.randrange(10**6)}", "price": chance.randrange(10**5) / 100} | other)

    return _drawn(
        seed,
        topic,
        {
            "change": lambda chance: Draft(key(chance), put(chance), "change"),
            "change_deletes": lambda chance: Draft(key(chance), b'{"op": "DELETE"}', "change_deletes"),
            "change_junk": lambda chance: Draft(key(chance), b"PUT " + chance.randbytes(9).hex().encode(), "change_junk"),
            "change_no_key": lambda chance: Draft(None, put(chance), "change_no_key"),
            "change_not_utf8": lambda chance: Draft(b"\xff" + key(chance), put(chance), "change_not_utf8"),
            "change_invalid": lambda chance: Draft(key(chance), put(chance, **_wrong(chance)), "change_invalid"),
            "change_no_value": lambda chance: Draft(key(chance), None, "change_no_value"),
        },
    )


def _wrong(chance: random.Random) -> dict[str, object]:
    return chance.choice([{"price": -1.0}, {"op": "PATCH"}, {"name": None}])


def lines(seed: int, topic: str) -> Callable:
    """Lines of an access log, in its order."""

    def line(chance: random.Random, when: float = 0, size: str = "1234") -> str:
        at = dt.datetime.fromtimestamp(time.time() + when, dt.UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
        path = chance.choice(["/shuttle/a.html", "/images/b.gif", "/elsewhere", "/history/", "/"])
        return f'host{chance.randrange(50)} - - [{at}] "GET {path} HTTP/1.0" {chance.choice([200, 304, 404, 500])} {size}'

    def bad(kind: str, change: Callable[[random.Random], str | bytes | None]) -> Callable[[random.Random], Draft]:
        def draft(chance: random.Random) -> Draft:
            value = change(chance)
            return Draft(None, value.encode() if isinstance(value, str) else value, kind)

        return draft

    return _drawn(
        seed,
        topic,
        {
            "line": bad("line", line),
            "line_junk": bad("line_junk", lambda chance: chance.choice(["", "no line", "- - -", '"', "[" * 5000])),
            "line_cut": bad("line_cut", lambda chance: line(chance)[: chance.randrange(10, 40)]),
            "line_no_time": bad("line_no_time", lambda chance: 'h - - [99/Foo/2024:10:00:00 +0000] "GET / HTTP/1.0" 200 1'),
            "line_no_size": bad("line_no_size", lambda chance: line(chance, size="9" * 30)),
            "line_not_utf8": bad("line_not_utf8", lambda chance: line(chance).encode() + b"\xff"),
            "line_no_value": bad("line_no_value", lambda chance: None),
            "line_ahead": bad("line_ahead", lambda chance: line(chance, when=40 * 86_400)),
        },
    )


def _check_in(chance: random.Random, n: int) -> dict:
    return {"User": f"user-{chance.randrange(100)}", "Place": f"place-{n}"}


def _sensor(chance: random.Random, n: int) -> dict:
    return {"Sensor": f"sensor-{chance.randrange(20)}", "Celsius": chance.randrange(-50_000, 50_000) / 1000}


def _view(chance: random.Random, n: int) -> dict:
    return {"Product": f"product-{chance.randrange(50)}", "User": f"user-{chance.randrange(100)}"}


def topics(
    seed: int, application: str, texts: Sequence[str], id_of: rows.Id
) -> Iterator[tuple[str, Callable[[int], Sequence[Draft]]]]:
    """Each topic that an application reads from outside, and what draws records for it."""
    if application == "events":
        for topic, fields in (("check-ins", _check_in), ("sensor-readings", _sensor), ("product-views", _view)):
            yield topic, events(seed, topic, fields, texts)
        yield "product-changes", changes(seed, "product-changes")
    elif application == "access-log":
        yield "access-log", lines(seed, "access-log")
    elif application in rows.TOPICS:
        yield from rows.topics(seed, application, id_of)
    else:
        raise ValueError(f"no producer for the topics of application {application!r}")
