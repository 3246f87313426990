"""Events of /api/events as they come, over as many connections as it takes."""

import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import httpx
from pydantic import BaseModel

from serving.baseline_models import GateEvent, PromotionEvent
from serving.health_models import StreamInfo
from serving.models import AnomalyInfo, EventKind, IncidentInfo, ScoredPoint
from serving.query_tables.models import RowEvent
from sundial.errors import ApiError, refused

RECORDS: dict[EventKind, type[BaseModel]] = {
    "scored": ScoredPoint,
    "anomaly": AnomalyInfo,
    "incident": IncidentInfo,
    "promotion": PromotionEvent,
    "gate": GateEvent,
    "stream": StreamInfo,
    "row": RowEvent,
}
DEAD = 25.0  # seconds without a byte after which the connection is dead: `alive` comes every ten
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 20.0  # seconds before another connection


@dataclass(frozen=True)
class Event:
    """record: what is new, of the type that RECORDS has for the kind; of `resync`, which says that events were lost, None."""

    kind: EventKind | Literal["resync"]
    record: ScoredPoint | AnomalyInfo | IncidentInfo | PromotionEvent | GateEvent | StreamInfo | RowEvent | None


@dataclass
class _Message:
    """One record of a stream of events."""

    id: str | None = None
    kind: str = "message"
    data: str = ""


def followed(http: httpx.Client, url: str, query: Mapping[str, list[str]], timeout: float) -> Generator[Event, None, None]:
    """Raises ApiError where the first connection fails, or a request is refused (status 4xx); else it connects again."""
    last, connected, pause = None, False, FIRST_PAUSE
    while True:
        headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": last})
        limits = httpx.Timeout(timeout, read=DEAD)
        try:
            with http.stream("GET", url, params=query, headers=headers, timeout=limits) as answer:
                if answer.status_code != 200:
                    answer.read()
                    if not connected or answer.status_code < 500:
                        raise refused(answer)
                else:
                    connected, pause = True, FIRST_PAUSE
                    for message in messages(answer.iter_bytes()):
                        last = message.id or last
                        if message.kind in RECORDS:
                            yield Event(message.kind, RECORDS[message.kind].model_validate_json(message.data))  # type: ignore[arg-type]
                        elif message.kind == "resync":
                            yield Event("resync", None)
        except httpx.HTTPError as error:
            if not connected:
                raise ApiError(url, None, f"{type(error).__name__}: {error}", "Is serving there, at that address?") from error
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def messages(chunks: Iterable[bytes]) -> Iterator[_Message]:
    """The records of a stream. Lines end with a line feed alone: a name may have other ends of lines in it."""
    message, rest = _Message(), b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            text = line.rstrip(b"\r").decode()
            name, _, value = text.partition(":")
            value = value.removeprefix(" ")
            if not text:
                yield message
                message = _Message()
            elif name == "id":
                message.id = value
            elif name == "event":
                message.kind = value
            elif name == "data":
                message.data = f"{message.data}\n{value}" if message.data else value
