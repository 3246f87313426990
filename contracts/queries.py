"""Stream queries: one YAML file under `schemas/queries/` each, with the SQL text itself or the name of one pure function.

A query reads topics as rows and writes its result's rows to topics. It runs in the Spark application that it names.

An input is a stream, of which each row counts, or a table: the last row of each key. A stream is joined with what a table holds;
of tables alone a query gets the keys that change.
"""

from collections import Counter
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Annotated, Literal, Self, cast

from pydantic import AfterValidator, Field, JsonValue, model_validator

from contracts import access_log_queries, access_logs, avro, incident_queries
from contracts.declarations import (
    SCHEMAS,
    Declaration,
    DeclarationError,
    Duration,
    Name,
    Topic,
    dead_letter_topic,
    load,
    no_contract,
    seconds_of,
)
from contracts.feeds import FEEDS, load_feeds
from contracts.query_io import LINE, ORIGIN, ROW_DELETED, ROW_OFFSET, ROW_TIME, Input, Output

QUERIES = SCHEMAS / "queries"
TRANSFORMS = SCHEMAS.parent / "jobs" / "transforms" / "queries"
LONGEST_TRIGGER = 120  # seconds
CHANGES = "changes"  # what a query of tables alone reads
# Which batch each query with delivery: exactly-once wrote last: the query's name, and a note as JSON.
COMMITS = Topic("sundial.commits", 1, None, compacted=True)
TRANSACTIONS = "sundial."  # begins the transactional id of each of these queries

Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
Select = Annotated[str, Field(pattern=r"(?i)^\s*(select|with)\s", max_length=20_000)]


def _often_enough(duration: str) -> str:
    """A query that does nothing while records wait is taken to stand still, and killed (LIMITS in dags/supervise_queries.py)."""
    if seconds_of(duration) > LONGEST_TRIGGER:
        raise ValueError(f"{duration} between two batches; {LONGEST_TRIGGER} seconds are the most")
    return duration


class Query(Declaration):
    """A declared stream query. `sql` sees each input as a view of that name; `transform` gets them as a dict of DataFrames.

    Beside streams, a table is what it holds when a batch begins. Tables alone are one view (or one DataFrame) of that name:
    `changes`, a row for each key of which a record came, with the column of the key and for each table a struct of its last row,
    null where there was none so far.
    """

    description: str
    inputs: Annotated[dict[Identifier, Input], Field(min_length=1)]
    sql: Select | None = None
    transform: Identifier | None = None  # function of that name in jobs/transforms/queries/<transform>.py
    # Of the function, by name, any YAML value; of the SQL text, as :name, one value each.
    parameters: dict[Identifier, JsonValue] = Field(default_factory=dict)
    # What the function gets as `known`: the states of the last midnight in the table detector/<input>. Such a query reads all its
    # inputs as one source, so that inputs may come and go; each has its own output.
    begins_with: Literal["detector"] | None = None
    outputs: Annotated[tuple[Output, ...], Field(min_length=1)]
    mode: Literal["append", "update"] = "append"  # update: a window's row is written with each change, not once it is over
    trigger: Annotated[Duration, AfterValidator(_often_enough)] = "1 second"  # how often a batch begins
    most_per_batch: Annotated[int, Field(ge=1)] = 500_000  # records of each source that a batch takes at most
    application: Name = "shared"  # queries of one application share a driver, and its memory
    # At least once: what a batch that was interrupted had written is written again. Exactly once: readers of what is committed
    # see each batch once, and whole.
    delivery: Literal["at-least-once", "exactly-once"] = "at-least-once"
    acks: Literal["all", 1, 0] = "all"  # brokers that confirm a record: all in sync, the leader, or none

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.sql is None) == (self.transform is None):
            raise ValueError("exactly one of sql and transform must be given")
        if self.sql and (several := [name for name, value in self.parameters.items() if isinstance(value, list | dict)]):
            raise ValueError(f"parameters of SQL are single values: {', '.join(several)}")
        if self.begins_with and (self.transform is None or "feeds" not in self.parameters):
            raise ValueError(f"begins_with: {self.begins_with} goes with a transform that has the parameter feeds")
        if self.begins_with and (unfit := [alias for alias, each in self.inputs.items() if not _fits_one_source(each)]):
            raise ValueError(f"begins_with goes with begin: earliest, and no table, lateness or dead letters: {', '.join(unfit)}")
        if self.begins_with and len(self.outputs) != len(self.inputs):
            raise ValueError("begins_with goes with one output for each input, in the same order")
        read = {each.topic for each in self.inputs.values()}
        written = Counter(each.topic for each in self.outputs)
        for topic, times in written.items():
            if times > 1:
                raise ValueError(f"two outputs to topic {topic}")
            if topic in read:
                raise ValueError(f"topic {topic} is both read and written")
        if self.reads_changes:
            keys = {each.key for each in self.inputs.values()}
            if len(keys) > 1:
                raise ValueError("tables alone are joined by their keys: all must have the same key, column and record")
            column = next(key.column for key in keys if key)  # a table without a key is refused where it is declared
            if column.lower() in self.inputs:
                raise ValueError(f"tables alone are columns of {CHANGES}, as their key is: {column} can't be the name of both")
            if self.mode != "update":
                raise ValueError("tables alone go with mode: update, as a row is emitted whenever it changes")
        if self.exactly_once and self.acks != "all":
            raise ValueError("delivery: exactly-once goes with acks: all, and with no other")
        return self

    @property
    def repaired(self) -> bool:
        """Whether a job writes rows again for which something came too late: see `jobs/repair_summaries.py`."""
        return self.transform in ("metric_summaries", "metric_rollups")

    @property
    def reads_changes(self) -> bool:
        """Whether it is of tables alone."""
        return all(each.is_table for each in self.inputs.values())

    @property
    def looked_up(self) -> dict[str, Input]:
        """The tables that its streams are joined with."""
        return {} if self.reads_changes else {alias: each for alias, each in self.inputs.items() if each.is_table}

    def of_inputs(self, aliases: Container[str]) -> Self:
        """The query of these inputs alone, with their outputs, of a query that `begins_with` something."""
        kept = {alias: output for alias, output in zip(self.inputs, self.outputs, strict=True) if alias in aliases}
        feeds = cast("dict[str, JsonValue]", self.parameters["feeds"])
        parameters = self.parameters | {"feeds": {alias: feeds[alias] for alias in kept}}
        inputs = {alias: self.inputs[alias] for alias in kept}
        return self.model_copy(update={"inputs": inputs, "outputs": tuple(kept.values()), "parameters": parameters})

    @property
    def most_in_all(self) -> int:
        """Records that a batch takes at most."""
        return self.most_per_batch * (1 if self.begins_with else len(self.inputs))

    def unmet(self) -> Iterator[str]:
        for alias, each in self.inputs.items():
            yield from no_contract(f"inputs.{alias}.record", each.record)
            yield from no_contract(f"inputs.{alias}.key.record", each.key.record if each.key else None)
            own = [ROW_TIME, ROW_OFFSET, *([ROW_DELETED] if each.is_table else []), ORIGIN]
            columns = [*_fields(each), *([each.key.column] if each.key else []), *own]
            for column, times in Counter(column.lower() for column in columns).items():
                if times > 1:
                    yield f"inputs.{alias}: two columns are named {column!r} (fields, key, {', '.join(own)})"
        for number, output in enumerate(self.outputs):
            yield from no_contract(f"outputs.{number}.record", output.record)
            yield from no_contract(f"outputs.{number}.version", output.record if output.version else None, output.version)
        if self.transform and not (TRANSFORMS / f"{self.transform}.py").exists():
            yield f"transform: no jobs/transforms/queries/{self.transform}.py"

    @property
    def exactly_once(self) -> bool:
        return self.delivery == "exactly-once"

    @property
    def dead_letter_topics(self) -> set[str]:
        """Of what can't be read from its inputs, and of what can't be written to its outputs."""
        topics = {each.topic for each in self.inputs.values() if each.dead_letters} | {each.topic for each in self.outputs}
        return set(map(dead_letter_topic, topics))

    @property
    def transactional_id(self) -> str:
        """By which Kafka knows the query's producer, whichever driver runs it."""
        return TRANSACTIONS + self.name


def _fits_one_source(source: Input) -> bool:
    return source.begin == "earliest" and not (source.is_table or source.lateness or source.dead_letters)


def _fields(source: Input) -> list[str]:
    """Of the contract; none where there is no such contract, which `unmet` reports."""
    if source.record is None:
        return list(access_logs.COLUMNS) if source.encoding == "access-log" else [LINE]
    try:
        return [field["name"] for field in avro.latest(source.record)["fields"]]
    except FileNotFoundError:
        return []


def load_queries(folder: Path = QUERIES) -> dict[str, Query]:
    """Every declared query by name, and those that follow from the feeds in the folder `feeds` beside it. Raises
    DeclarationError listing all mistakes of all files."""
    found, folder = load(folder, Query), folder.parent / FEEDS.name
    feeds = list(load_feeds(folder).values()) if folder.is_dir() else []
    of_feeds = [*access_log_queries.declared_queries(feeds), *([incident_queries.declared_query(feeds)] if feeds else [])]
    for declared in of_feeds:
        if declared["name"] in found:
            raise DeclarationError(f"{declared['name']}.yaml: name: is that of a query that follows from the feeds")
        found[declared["name"]] = Query.model_validate(declared)
    return found


def load_query(name: str, folder: Path = QUERIES) -> Query:
    """The query of that name; DeclarationError names the known ones."""
    queries = load_queries(folder)
    if name not in queries:
        raise DeclarationError(f"no query {name!r}: one of {', '.join(queries)}")
    return queries[name]


def load_application(name: str, folder: Path = QUERIES) -> dict[str, Query]:
    """The queries of one application by name; DeclarationError names the known applications."""
    queries = load_queries(folder)
    found = {query.name: query for query in queries.values() if query.application == name}
    if not found:
        known = sorted({query.application for query in queries.values()})
        raise DeclarationError(f"no query of application {name!r}: one of {', '.join(known)}")
    return found
