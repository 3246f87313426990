"""What a stream query reads and writes: topics as rows."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from contracts.declarations import LINES, AvroName, Declared, Duration, Encoding, Topic, TopicName

ROW_TIME = "RowTime"  # each input row's time, as the declaration wants it
ROW_OFFSET = "RowOffset"  # of its record in the topic's partition; a key is always in one partition
ROW_DELETED = "RowDeleted"  # of a table's row alone: whether its record has no value (a tombstone)
ROW_CAME = "RowCame"  # of the rows of several inputs together: when the broker took the record
TOGETHER = "together"  # what a query reads whose inputs are one source: a row has a struct for each input, all but one null
LINE = "Line"  # the column of an input that is text
ORIGIN = "_kafka"  # where a row came from, while it is decoded

Column = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,62}$")]
RETENTION_DAYS = 7  # of a topic whose declaration does not say it
RetentionDays = Annotated[int, Field(ge=1)] | Literal["forever"]
Expression = Annotated[str, Field(min_length=1, max_length=2000)]


def days(retention: int | Literal["forever"]) -> int | None:
    """For the topic's configuration; None: for ever."""
    return None if retention == "forever" else retention


class Key(Declared):
    """The column in which a topic's key stands: a struct of the contract's fields, or UTF-8 text where it has no contract."""

    column: Column
    record: AvroName | None = None


class Input(Declared):
    """A topic as rows: a column for each field of its contract, one for its key where that is named, RowTime (TIMESTAMP) and
    RowOffset (BIGINT); of a table RowDeleted (BOOLEAN) as well."""

    topic: TopicName
    kind: Literal["stream", "table"] = Field("stream", alias="as")  # table: the last row of each key, unless that deletes it
    record: AvroName | None = None  # contract of the values; what was written with other versions is read as its newest
    encoding: Encoding = "avro"  # of the values; text has one column, Line, an access log those of contracts/access_logs.py
    key: Key | None = None
    time: Literal["event", "broker", "processing"] = "broker"  # what RowTime is: `timestamp`, Kafka's own, or the batch's clock
    timestamp: Expression | None = None  # of event time: Spark SQL over the columns that gives a TIMESTAMP
    most_ahead: Duration = "1 hour"  # how far an event's time may be ahead of the broker's clock; beyond, a dead letter
    most_behind: Duration = "36500 days"  # how far it may be behind that clock
    valid: Expression | None = None  # Spark SQL condition over the columns; a record for which it is not true is dead-lettered
    dead_letters: bool = True  # where a record goes that is no row; false: nowhere, as another reader of the topic sends it there
    lateness: Duration | None = None  # how far behind the newest RowTime seen a row may be and still count; null: no watermark
    begin: Literal["earliest", "latest"] = "earliest"  # where a query that was never run begins: with all there is, or what comes
    partitions: Annotated[int, Field(ge=1, le=512)] | None = None  # of a topic that no feed and no query writes; default 2
    retention_days: RetentionDays | None = None  # of such a topic; default 7, of a table forever
    compacted: bool | None = None  # such a topic keeps the last record of each key; default: if it is read as a table

    @model_validator(mode="after")
    def _timed(self) -> Self:
        if (self.time == "event") != (self.timestamp is not None):
            raise ValueError("timestamp goes with time: event, and with no other")
        if (self.encoding in LINES) == (self.record is not None):
            raise ValueError("record names the contract of the values; only encoding: text and access-log have none")
        if self.is_table and self.key is None:
            raise ValueError("as: table goes with key: a table holds the last row of each")
        if self.is_table and self.lateness:
            raise ValueError("as: table goes with no lateness: of each key the last record counts, whatever its time")
        if self.is_table and self.begin != "earliest":
            raise ValueError("as: table goes with begin: earliest: it holds what came before the query, too")
        return self

    @property
    def is_table(self) -> bool:
        return self.kind == "table"

    @property
    def declared_topic(self) -> Topic:
        """The topic as this input needs it, if nothing else declares it."""
        key_record = self.key.record if self.key else None
        kept = days(self.retention_days or ("forever" if self.is_table else RETENTION_DAYS))
        partitions, compacted = self.partitions or 2, self.is_table if self.compacted is None else self.compacted
        return Topic(self.topic, partitions, kept, compacted, self.record, key_record, encoding=self.encoding)


class Output(Declared):
    """A topic for the result's rows: those for which `when` is true, or all."""

    topic: TopicName
    record: AvroName  # contract of the values; the result must have its fields, by name and type
    version: Annotated[int, Field(ge=1)] | None = None  # of the contract, for readers that know no newer one; null: the newest
    encoding: Literal["avro", "json"] = "avro"
    key: Expression  # Spark SQL over the result's columns that gives the record's key as text; the same for a row computed again
    when: Expression | None = None  # Spark SQL condition over the result's columns
    delete: Expression | None = None  # likewise: a row for which it is true removes its key from the table (a tombstone)
    compacted: bool = True  # readers see the last row of each key once
    partitions: Annotated[int, Field(ge=1, le=512)] = 2
    retention_days: RetentionDays = RETENTION_DAYS

    @model_validator(mode="after")
    def _deletes_from_a_table(self) -> Self:
        if self.delete and not self.compacted:
            raise ValueError(
                "delete goes with compacted: true, as only a table's readers drop a key for a record without a value"
            )
        return self

    @property
    def declared_topic(self) -> Topic:
        days_ = days(self.retention_days)
        return Topic(
            self.topic, self.partitions, days_, self.compacted, self.record, version=self.version, encoding=self.encoding
        )
