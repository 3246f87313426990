"""The tables that somebody asked for lately, and their rows as Python values."""

import datetime as dt
import threading
import time
from collections.abc import Callable
from typing import Any

import anyio
import orjson
from confluent_kafka.admin import AdminClient

from contracts.query_io import Output
from serving.decoder import Decoder, RegistryUnavailable, Undecodable
from serving.live_consumer import QUIET
from serving.long_lived import Standstill
from serving.problems import ProblemError
from serving.query_tables.json_values import plain
from serving.query_tables.kept_rows import KeptRows, Record
from serving.query_tables.models import QueryRow
from serving.query_tables.topic_table import Found, TopicTable

MOST = 8  # tables at a time: each costs a connection and its threads; then one goes, see TopicTable.age
ROOM = 64_000_000  # bytes of rows of each
PATIENCE = 2.0  # seconds in which a table is read to its end, or the request is told to come again
AGAIN = 5.0  # seconds after which what did not answer is asked again
LARGE_AGAIN = 300.0  # seconds after which a table that was too large is read again
IDLE = 600.0  # seconds without a request, after which a table is let go


class QueryTables:
    """Safe to use from several threads. `kafka`: a client's basic options. `requests`: how many of them may wait at a time."""

    def __init__(self, kafka: dict[str, str], registry: str):
        self._kafka = kafka
        self._lock = threading.Lock()
        self._admin: AdminClient | None = None
        self._tables: dict[str, TopicTable] = {}
        self._decoder, self._decoding = Decoder(registry), threading.Lock()
        self._silent: tuple[float, str] | None = None  # when the registry did not answer, and what it was
        self.requests = anyio.CapacityLimiter(4)

    def ask(self, topic: str, question: Callable[[KeptRows], list[tuple[bytes, Record]]]) -> Found:
        """What the rows of the topic's table answer; see TopicTable.ask."""
        return self._table(topic).ask(question, PATIENCE)

    def _table(self, topic: str) -> TopicTable:
        now = time.monotonic()
        with self._lock:
            self._tables = {name: each for name, each in self._tables.items() if _holds(each, now)}
            known = self._tables.get(topic)
            if known is None:
                self._admin = self._admin or AdminClient({**self._kafka, **QUIET})
                if len(self._tables) >= MOST:
                    oldest = min(self._tables, key=lambda name: self._tables[name].age)
                    self._tables.pop(oldest).stop()
                known = self._tables[topic] = TopicTable(self._kafka, self._admin, topic, ROOM, IDLE)
        return known

    def row(self, key: bytes, record: Record, output: Output) -> QueryRow:
        """For JSON; the value is null if the record removes its key. Raises ProblemError if the registry does not answer."""
        value, problem = (None, None) if record.value is None else self._value(record.value, output)
        at = dt.datetime.fromtimestamp(record.at / 1000, dt.UTC)
        text = key.decode(errors="replace")
        return QueryRow(key=text, partition=record.partition, offset=record.offset, at=at, value=value, problem=problem)

    def _value(self, value: bytes, output: Output) -> tuple[Any, str | None]:
        """For JSON, or null and why it can't be read."""
        try:
            if output.encoding == "json":
                return orjson.loads(value), None
            with self._decoding:
                return plain(self._decoded(value, output)), None
        except (Undecodable, orjson.JSONDecodeError) as error:
            return None, str(error)

    def _decoded(self, value: bytes, output: Output) -> dict:
        if self._silent and time.monotonic() - self._silent[0] < AGAIN:
            raise _no_registry(self._silent[1])
        try:
            return self._decoder.decode(value, output.record, output.version)
        except RegistryUnavailable as error:
            self._silent = time.monotonic(), str(error)
            raise _no_registry(str(error)) from error

    def standstills(self) -> list[Standstill]:
        """Of the tables' threads."""
        with self._lock:
            return [found for each in self._tables.values() if (found := each.thread.standstill())]

    def stop(self) -> None:
        with self._lock:
            tables, self._tables = list(self._tables.values()), {}
        for each in tables:
            each.stop()
        for each in tables:
            each.join()


def _holds(table: TopicTable, now: float) -> bool:
    """Whether what it answers still holds; if not, it is to be read again."""
    return table.ended_at is None or now - table.ended_at < (LARGE_AGAIN if table.too_large else AGAIN)


def _no_registry(why: str) -> ProblemError:
    remedy = "Start the registry, or try again; /health says what serving knows of it."
    return ProblemError(503, "no-registry", "The schema registry does not answer", why, remedy)
