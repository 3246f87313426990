"""The last answers to requests for series, as bytes, each as long as nothing changes that it was made of."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

import anyio

from contracts.feeds import Feed

KEPT = 256


@dataclass(frozen=True)
class Answer:
    body: bytes
    etag: str


class SeriesAnswers:
    """The last answers, each with what it was made of."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Feed, Answer]] = OrderedDict()
        self.long = anyio.CapacityLimiter(1)

    def get(self, made_of: Hashable, feed: Feed) -> Answer | None:
        with self._lock:
            declared, answer = self._kept.get(made_of, (None, None))
            if declared is not feed:  # its declaration has changed
                return None
            self._kept.move_to_end(made_of)
            return answer

    def keep(self, made_of: Hashable, feed: Feed, body: bytes) -> Answer:
        answer = Answer(body, f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"')
        with self._lock:
            self._kept[made_of] = feed, answer
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return answer
