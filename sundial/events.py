"""Events of /api/events as they come, over as many connections as it takes."""

import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass

import httpx
from pydantic import BaseModel

from serving.models import AnomalyInfo, IncidentInfo, ScoredPoint
from sundial.errors import ApiError, refused

RECORDS: dict[str, type[BaseModel]] = {"scored": ScoredPoint, "anomaly": AnomalyInfo, "incident": IncidentInfo}
DEAD = 25.0  # seconds without a byte after which the connection is dead: `alive` comes every ten
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 20.0  # seconds before another connection


@dataclass(frozen=True)
class Event:
    """kind: scored, anomaly, incident or resync. record: a point with its feed and service, an anomaly, an incident; of `resync`,
    which says that events were lost, None."""

    kind: str
    record: ScoredPoint | AnomalyInfo | IncidentInfo | None


@dataclass
class _Message:
    """One record of a stream of events."""

    id: str | None = None
    kind: str = "message"
    data: str = ""


def followed(http: httpx.Client, url: str, query: dict[str, list[str]], timeout: float) -> Generator[Event, None, None]:
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
