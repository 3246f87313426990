"""What a stream knows of its writers' schemas: those that the registry has, and the ids that it was asked for in vain.

A record with an unknown schema id ends its query, as the schema may be new. Then the registry is asked once about all such ids
that wait in the topic. Those that it does not have are refused from then on, until it has a new schema for the subject. A file
keeps them, so that no restart asks again.
"""

import time
from dataclasses import replace

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from contracts import avro
from jobs.backends import kafka
from jobs.backends.kafka import Range
from jobs.backends.registry import Registry, Silent
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.formats import wire
from jobs.formats.wire import Writers
from supervision.files import StreamFolder

MOST_REFUSED = 16  # ids; with more the topic carries garbage, and every unknown id is refused
PATIENCE = 3.0  # seconds for an answer while queries run: a stop that is asked for meanwhile waits as long
PAUSE = 30.0  # seconds without a question once there was no answer: a stream may read many subjects
MOST_LOOKED_AT = 2_000_000  # records of a topic that are looked through for unknown ids


class KnownWriters:
    """Of the subjects that one stream reads. folder: of the stream; it keeps the refused ids."""

    def __init__(self, session: SparkSession, platform: Platform, folder: StreamFolder):
        self.registry = Registry(platform)
        self._impatient, self._silent_until = Registry(platform, PATIENCE, retries=0), 0.0
        self._session, self._platform, self._folder = session, platform, folder

    def of(self, subject: str) -> Writers:
        """To begin with. Raises JobError where the registry is silent or does not have the subject."""
        found = self.registry.writers(subject)
        kept = self._folder.read_refused().get(subject, {})
        return replace(found, refused=_refusal(kept["refused"]) if kept.get("schemas") == _ids(found) else frozenset())

    def renewed(self, writers: Writers) -> Writers:
        """The same if nothing is new. A registry that doesn't answer is no reason to stop what runs: then it's the same, too, and
        the registry is not asked for a while."""
        if time.monotonic() < self._silent_until:
            return writers
        try:
            found = self._impatient.writers(writers.subject)
        except JobError as error:
            print(f"WARN {error}", flush=True)
            if isinstance(error, Silent):
                self._silent_until = time.monotonic() + PAUSE
            return writers
        return writers if found.schemas == writers.schemas else found

    def learned(self, writers: Writers, unknown: int, reached: dict[int, int]) -> Writers:
        """After a record with an unknown id ended the query. It is known or refused from then on, and so is each unknown id of
        the records that wait. reached: the offsets by partition up to which the topic's records are dealt with."""
        met = self._unknown_ids(writers, reached) | {unknown} | (writers.refused or frozenset())
        found = self.registry.writers(writers.subject)  # asked last: what is registered meanwhile is not refused
        refused = met - set(_ids(found))
        for each in sorted(refused | {unknown}):
            print(f"schema id {each} of {found.subject} is {'not in the registry' if each in refused else 'new'}", flush=True)
        self._keep(found, refused)
        return replace(found, refused=_refusal(refused))

    def _unknown_ids(self, writers: Writers, reached: dict[int, int]) -> set[int]:
        """Of the records that wait. A few more than the most, where there are more."""
        topic, column = avro.part_of(writers.subject)
        waiting = self._waiting(topic, reached)
        schema_id = wire.schema_id(column)
        records = kafka.read_ranges(self._session, self._platform, topic, waiting).where(_is_framed(column))
        others = records.select(schema_id.alias("id")).where(~F.col("id").isin(_ids(writers)) & (F.col("id") <= wire.MOST_ID))
        return {row["id"] for row in others.distinct().limit(MOST_REFUSED + 1).collect()}

    def _waiting(self, topic: str, reached: dict[int, int]) -> dict[int, Range]:
        held = kafka.available(self._platform, topic)
        most = MOST_LOOKED_AT // len(held)
        begins = {p: max(reached.get(p, each.start), each.start) for p, each in held.items()}
        return {p: Range(begins[p], max(begins[p], min(each.end, begins[p] + most))) for p, each in held.items()}

    def _keep(self, writers: Writers, refused: set[int]) -> None:
        kept = self._folder.read_refused()
        before = kept.get(writers.subject, {})
        if before.get("schemas") == _ids(writers):  # of another query that reads the subject
            refused = refused | set(before["refused"])
        self._folder.write_refused(kept | {writers.subject: {"schemas": _ids(writers), "refused": sorted(refused)}})


def _ids(writers: Writers) -> list[int]:
    return [schema_id for schema_id, _ in writers.schemas]


def _refusal(refused: set[int] | list[int]) -> frozenset[int] | None:
    """As in Writers."""
    return None if len(refused) > MOST_REFUSED else frozenset(refused)


def _is_framed(column: str) -> Column:
    return (F.length(column) > wire.HEADER_BYTES) & (F.substring(column, 1, 1) == F.lit(bytearray([avro.MAGIC])))
