"""What the API answers of queries and their tables. Instants are ISO 8601 in UTC."""

import datetime as dt
from typing import Annotated, Any

from pydantic import BaseModel, Field


class OutputInfo(BaseModel):
    topic: str
    record: Annotated[str, Field(description="Contract of the values.")]
    encoding: Annotated[str, Field(description="avro or json.")]
    table: Annotated[bool, Field(description="Whether readers see the last row of each key: it can be asked for.")]


class QueryInfo(BaseModel):
    """A declared query."""

    name: str
    description: str
    application: Annotated[str, Field(description="Queries of one application share a driver.")]
    inputs: Annotated[list[str], Field(description="Topics that it reads.")]
    outputs: Annotated[list[OutputInfo], Field(description="Topics that it writes.")]


class QueryRow(BaseModel):
    """The last row of a key."""

    key: Annotated[str, Field(description="Bytes that are no UTF-8 are replaced.")]
    partition: int
    offset: Annotated[int, Field(description="Of its record in the partition.")]
    at: Annotated[dt.datetime, Field(description="When Kafka took it, UTC.")]
    value: Annotated[Any, Field(description="By its contract; bytes are base64. Null if it can't be read.")]
    problem: Annotated[str | None, Field(description="Why the value can't be read; else null.")]


class RowEvent(QueryRow):
    """A row that has changed, as the events carry it."""

    query: str
    topic: str
    removed: Annotated[bool, Field(description="Whether the key is removed; the value is then null.")]


class QueryTable(BaseModel):
    """A part of a query's table."""

    query: str
    topic: str
    offsets: Annotated[dict[int, int], Field(description="By partition, the offset up to which the topic is read.")]
    rows: Annotated[list[QueryRow], Field(description="In ascending order of their keys.")]
