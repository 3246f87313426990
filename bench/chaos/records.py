"""Records for a feed's topic: good readings, and one class for each way in which a record can be none. Seeded.

Of each class it is known what must become of its records: a scored row, or a dead letter with a reason.
"""

import random
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

DAY = 86_400_000  # milliseconds
NOT_AVRO = "not Avro of the schema that its header names|has more bytes behind the record"
CUT = "; more than 1,000,000 bytes: the letter has the first 1,000 of key and value$"
# By class: how often, relative to the others; the regular expression of its letter's reason, or None for a reading.
GOOD = {
    "good": 800.0,
    "outlier": 120.0,
    "repeat": 8.0,
    "correction": 12.0,
    "late": 6.0,
    "ahead": 4.0,
    "longest_name": 3.0,
    "text_name": 6.0,
}
LETTERS = {
    "junk": (20.0, "^first byte is not the Confluent magic byte 0$"),
    "short": (10.0, "^value too short for the Confluent wire format$"),
    "truncated": (20.0, f"^value (is )?({NOT_AVRO})$"),
    "mutated": (20.0, f"^value (is )?({NOT_AVRO})$"),
    "trailing": (20.0, "^value has more bytes behind the record$"),
    "huge_number": (10.0, f"^value (is )?({NOT_AVRO})$"),
    "unknown_schema": (2.0, "^unknown schema id "),
    "microseconds": (8.0, "ahead of the broker's clock"),
    "seconds": (8.0, "behind the broker's clock"),
    "year_2099": (8.0, "ahead of the broker's clock"),
    "too_far_ahead": (8.0, "ahead of the broker's clock"),
    "long_past": (8.0, "behind the broker's clock"),
    "negative": (10.0, "^negative reading -"),
    "no_value": (10.0, r"^no value \(tombstone\) where a record belongs$"),
    "no_key": (10.0, "^no service name in the record's key$"),
    "not_utf8": (10.0, "^service name is not UTF-8 text$"),
    "long_name": (6.0, "^service name of [0-9]+ bytes; the feed's longest_service is [0-9]+$"),
    "giant_key_kept": (0.1, "^service name of [0-9]+ bytes; the feed's longest_service is [0-9]+$"),
    "giant_key_cut": (0.1, f"^service name of [0-9]+ bytes; the feed's longest_service is [0-9]+{CUT}"),
    "giant_value": (0.1, f"^first byte is not the Confluent magic byte 0{CUT}"),
}
MOST_BYTES, LARGEST = 1_000_000, 1_048_400  # that a letter keeps whole; of a record that the broker still takes, with its key
REASONS: dict[str, str | None] = dict.fromkeys(GOOD) | {name: reason for name, (_, reason) in LETTERS.items()}
UNKNOWN_IDS = range(900_001, 900_021)


@dataclass(frozen=True)
class Draft:
    """A record to send. reading: (service, epoch ms, value) that must be scored; None where a letter is due."""

    key: bytes | None
    value: bytes | None
    kind: str
    reading: tuple[str, int, int] | None = None


def zigzag(number: int) -> bytes:
    """As Avro writes a long (Avro specification, "Binary encoding")."""
    rest, out = ((number << 1) ^ (number >> 63)) & 0xFFFF_FFFF_FFFF_FFFF, bytearray()
    while rest > 127:
        out.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*out, rest])


@dataclass
class Readings:
    """Drafts for one feed. Reading number n is of its own millisecond today: slot after slot, then a millisecond later.

    normal: what a service reads in each slot. midnight: of today where the feed lives, epoch ms. behind, ahead: days, declared.
    ids: schema ids with their tail, the bytes that a newer schema adds to a reading; all of them are used.
    """

    seed: int
    normal: Mapping[str, np.ndarray]
    interval: int
    midnight: int
    now: int
    ahead: int
    behind: int
    longest: int
    ids: dict[int, bytes]
    texts: Sequence[str]
    most: frozenset[str] = frozenset(REASONS)

    def __post_init__(self) -> None:
        self._chance = random.Random(f"{self.seed} readings")
        # Sources of their own: how many drafts are asked for at once, and when a schema comes to be known, follows from no seed.
        self._kind = random.Random(f"{self.seed} kinds")
        self._writer = random.Random(f"{self.seed} writers")
        weights = GOOD | {name: weight for name, (weight, _) in LETTERS.items()}
        self._kinds = [name for name in weights if name in self.most]
        self._weights = [weights[name] for name in self._kinds]
        self._services, self._count = list(self.normal), 0
        self._recent: list[tuple[str, int, int]] = []

    def drafts(self, count: int) -> list[Draft]:
        return [getattr(self, f"_{kind}")() for kind in self._kind.choices(self._kinds, self._weights, k=count)]

    def reading(self, service: str, at: int, value: int, kind: str) -> Draft:
        reading = (service, at, value)
        if len(self._recent) < 2000:
            self._recent.append(reading)
        else:
            self._recent[self._chance.randrange(2000)] = reading
        return Draft(service.encode(), self._payload(at, value), kind, reading)

    def _payload(self, at: int, value: int) -> bytes:
        number = self._writer.choice(list(self.ids))
        return struct.pack(">bI", 0, number) + zigzag(at) + zigzag(value) + self.ids[number]

    def _next(self, service: str | None = None) -> tuple[str, int, int]:
        round_, which = divmod(self._count, len(self._services))
        self._count += 1
        again, slot = divmod(round_, DAY // 1000 // self.interval)
        name = self._services[which]
        return service or name, self.midnight + slot * self.interval * 1000 + again, int(self.normal[name][slot])

    def _good(self, kind: str = "good") -> Draft:
        return self.reading(*self._next(), kind)

    def _outlier(self) -> Draft:
        service, at, value = self._next()
        return self.reading(service, at, int(value * self._chance.uniform(0, 5)) + self._chance.randrange(3), "outlier")

    def _repeat(self) -> Draft:
        return self.reading(*self._chance.choice(self._recent), "repeat") if self._recent else self._good()

    def _correction(self) -> Draft:
        if not self._recent:
            return self._good()
        service, at, value = self._chance.choice(self._recent)
        return self.reading(service, at, value + self._chance.randrange(1, 500), "correction")

    def _late(self) -> Draft:
        """Of a day that counts for no baseline any more."""
        service, at, value = self._next()
        return self.reading(service, at - DAY * self._chance.randrange(100, min(self.behind, 400) - 2), value, "late")

    def _ahead(self) -> Draft:
        service, at, value = self._next()
        return self.reading(service, at + DAY * self._chance.randrange(1, self.ahead - 1), value, "ahead")

    def _longest_name(self) -> Draft:
        return self.reading(*self._next(("é" * self.longest)[: self.longest // 2]), "longest_name")

    def _text_name(self) -> Draft:
        return self.reading(*self._next(self._chance.choice(self.texts)), "text_name")

    def _letter(self, kind: str, value: bytes | None, key: bytes | None = None) -> Draft:
        return Draft(key or self._chance.choice(self._services).encode(), value, kind)

    def _plain(self) -> bytes:
        _, at, value = self._next()
        return self._payload(at, value)

    def _junk(self) -> Draft:
        return self._letter(
            "junk", bytes([self._chance.randrange(1, 256)]) + self._chance.randbytes(self._chance.randrange(5, 300))
        )

    def _short(self) -> Draft:
        return self._letter("short", b"\0" + self._chance.randbytes(self._chance.randrange(0, 5)))

    def _truncated(self) -> Draft:
        whole = self._plain()
        end = 6 + int(self._chance.random() * (len(whole) - 6))  # of a longer record another one, by the same choice
        return self._letter("truncated", whole[:end])

    def _mutated(self) -> Draft:
        """Each byte of the body says that another one follows."""
        whole = self._plain()
        return self._letter("mutated", whole[:5] + bytes(byte | 128 for byte in whole[5:]))

    def _trailing(self) -> Draft:
        return self._letter("trailing", self._plain() + self._chance.randbytes(self._chance.randrange(1, 40)))

    def _huge_number(self) -> Draft:
        return self._letter("huge_number", self._plain()[:5] + b"\xff" * self._chance.randrange(11, 40))

    def _unknown_schema(self) -> Draft:
        header = struct.pack(">bI", 0, self._chance.choice(UNKNOWN_IDS))
        return self._letter("unknown_schema", header + self._plain()[5:])

    def _of_time(self, kind: str, at: int) -> Draft:
        return self._letter(kind, self._payload(at, 300))

    def _microseconds(self) -> Draft:
        return self._of_time("microseconds", self._next()[1] * 1000)

    def _seconds(self) -> Draft:
        return self._of_time("seconds", self._next()[1] // 1000)

    def _year_2099(self) -> Draft:
        return self._of_time("year_2099", 4_070_908_800_000 + self._chance.randrange(364 * DAY))

    def _too_far_ahead(self) -> Draft:
        return self._of_time("too_far_ahead", self.now + DAY * (self.ahead + 1) + self._chance.randrange(DAY))

    def _long_past(self) -> Draft:
        return self._of_time("long_past", -self._chance.randrange(1, 60_000 * DAY) + self.now - DAY * (self.behind + 1))

    def _negative(self) -> Draft:
        _, at, _ = self._next()
        return self._letter("negative", self._payload(at, -self._chance.randrange(1, 2**62)))

    def _no_value(self) -> Draft:
        return self._letter("no_value", None)

    def _no_key(self) -> Draft:
        return Draft(self._chance.choice([None, b""]), self._plain(), "no_key")

    def _not_utf8(self) -> Draft:
        return self._letter("not_utf8", self._plain(), self._chance.choice([b"\xff", b"caf\xe9", b"\xc3", b"\xed\xa0\x80x"]))

    def _long_name(self) -> Draft:
        return self._letter("long_name", self._plain(), b"n" * (self.longest + self._chance.randrange(1, 3000)))

    def _giant_key_kept(self) -> Draft:
        value = self._plain()
        return self._letter("giant_key_kept", value, b"k" * (MOST_BYTES - len(value)))

    def _giant_key_cut(self) -> Draft:
        value = self._plain()
        return self._letter("giant_key_cut", value, b"k" * self._chance.randrange(MOST_BYTES + 1 - len(value), LARGEST))

    def _giant_value(self) -> Draft:
        return self._letter("giant_value", b"\1" + self._chance.randbytes(self._chance.randrange(MOST_BYTES + 1, LARGEST)))
