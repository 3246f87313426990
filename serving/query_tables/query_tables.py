"""The tables that somebody asked for lately, and their rows as Python values."""

import base64
import datetime as dt
import math
import threading
import time
from decimal import Decimal
from typing import Any

import orjson

from contracts.query_io import Output
from serving.decoder import Decoder, RegistryUnavailable, Undecodable
from serving.problems import ProblemError
from serving.query_tables.kept_rows import Record
from serving.query_tables.topic_table import TopicTable

ROOM = 256_000_000  # bytes for the rows of all tables
PATIENCE = 3.0  # seconds in which a table is read to its end, or the request is told to come again
AGAIN = 5.0  # seconds after which a table that can't be read is tried again
IDLE = 600.0  # seconds without a request, after which a table is let go


class QueryTables:
    """Safe to use from several threads. `kafka`: a client's basic options."""

    def __init__(self, kafka: dict[str, str], registry: str):
        self._kafka = kafka
        self._lock = threading.Lock()
        self._tables: dict[str, tuple[TopicTable, float]] = {}  # by topic, with the time of the last request
        self._decoder, self._decoding = Decoder(registry), threading.Lock()

    def of(self, topic: str) -> TopicTable:
        """The table, read to its end. Raises ProblemError if it is not yet, or can't be."""
        with self._lock:
            self._let_go()
            known, _ = self._tables.get(topic, (None, 0.0))
            if known is None or (known.ended_at is not None and time.monotonic() - known.ended_at > AGAIN):
                others = sum(table.size for table, _ in self._tables.values())
                known = TopicTable(self._kafka, topic, max(0, ROOM - others))
            self._tables[topic] = known, time.monotonic()
        if not known.wait(PATIENCE):
            detail = f"Serving reads {topic} from its beginning."
            raise ProblemError(503, "loading", "The table is being read", detail, "Ask again in a few seconds.")
        if known.problem:
            raise known.problem
        return known

    def value(self, record: Record, output: Output) -> tuple[Any, str | None]:
        """The record's value for JSON, or null and why it can't be read. Raises ProblemError if the registry does not answer."""
        try:
            if output.encoding == "json":
                return orjson.loads(record.value), None
            with self._decoding:
                return plain(self._decoder.decode(record.value, output.record)), None
        except (Undecodable, orjson.JSONDecodeError) as error:
            return None, str(error)
        except RegistryUnavailable as error:
            remedy = "Start the registry, or try again; /health says what serving knows of it."
            raise ProblemError(503, "no-registry", "The schema registry does not answer", str(error), remedy) from error

    def stop(self) -> None:
        with self._lock:
            tables = [table for table, _ in self._tables.values()]
            self._tables.clear()
        for each in tables:
            each.stop()
        for each in tables:
            each.join()

    def _let_go(self) -> None:
        now = time.monotonic()
        for topic, (table, asked) in list(self._tables.items()):
            if now - asked > IDLE:
                del self._tables[topic]
                table.stop()


def plain(value: Any) -> Any:
    """As JSON has it: bytes are base64, decimals text, numbers that are not finite null."""
    match value:
        case dict():
            return {name: plain(each) for name, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return str(value)
        case float():
            return value if math.isfinite(value) else None
        case dt.datetime():
            return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
        case dt.date() | dt.time():
            return value.isoformat()
        case _:
            return value
