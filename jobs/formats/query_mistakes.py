"""Mistakes in a declared query that only Spark's analyzer finds: SQL, conditions and columns. No record is read, nothing runs."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contracts import avro
from contracts.queries import Query
from contracts.query_io import TOGETHER, Input, Output
from jobs.errors import JobError
from jobs.formats import dead_letters, query_records, together
from jobs.formats.wire import Writers

RECORD = {"topic": "string", "key": "binary", "value": "binary", "partition": "int", "offset": "bigint", "timestamp": "timestamp"}


def mistakes(session: SparkSession, query: Query) -> Iterator[str]:
    """Each as `field: what`. The session should be the query's own: the query's inputs become views there.

    Each part is analyzed without the parts that are wrong, so that one mistake does not hide another. But what is wrong in the
    SQL text or in the function hides what is wrong in the outputs: without a result, they have no columns.
    """
    inputs = {}
    for alias, source in query.inputs.items():
        wrong = {field: what for field in ("timestamp", "valid") if (what := _wrong_in_input(session, source, field))}
        yield from (f"inputs.{alias}.{field}: {what}" for field, what in wrong.items())
        inputs[alias] = source.model_copy(update={field: _HARMLESS[field] for field in wrong})
    try:
        rows = _result(session, query.model_copy(update={"inputs": inputs}))
        rows.select(*(F.col(f"`{name}`") for name in rows.columns))  # two columns of one name can't be written
    except Exception as error:  # the function is the user's: it may raise anything
        yield f"{'sql' if query.sql else 'transform'}: {_first_line(error)}"
        return
    wrong_outputs = [each for number, output in enumerate(query.outputs) for each in _wrong_in_output(rows, number, output)]
    yield from wrong_outputs
    if not wrong_outputs and (what := _wrong(lambda: _runs_as_stream(session, rows, query.mode))):
        yield f"mode: {what}"


_HARMLESS = {"timestamp": "current_timestamp()", "valid": None}


def _wrong_in_input(session: SparkSession, source: Input, field: str) -> str | None:
    """What is wrong in this field of an input."""
    if getattr(source, field) is None:
        return None
    alone = source.model_copy(update={other: harmless for other, harmless in _HARMLESS.items() if other != field})
    return _wrong(lambda: query_records.decode(_records(session, live=True), alone, _writers(source)))


def _result(session: SparkSession, query: Query) -> DataFrame:
    """What the query makes of inputs that have no record."""
    if query.begins_with:
        writers = {name: each for source in query.inputs.values() for name, each in _writers(source).items()}
        decoded = together.decode(_records(session, live=True), query.inputs, writers)
        return query_records.result(query, {TOGETHER: decoded}, known={})
    inputs = {}
    for alias, source in query.inputs.items():
        records = _records(session, live=alias not in query.looked_up)
        inputs[alias] = query_records.good(query_records.decode(records, source, _writers(source)), source)
    return query_records.result(query, inputs)


def _wrong_in_output(rows: DataFrame, number: int, output: Output) -> Iterator[str]:
    for what in query_records.misfits(rows, output):
        yield f"outputs.{number}.record: {output.record}: {what}"
    if what := _wrong(lambda: rows.select(F.expr(output.key).cast("string"))):
        yield f"outputs.{number}.key: {what}"
    for field, condition in (("when", output.when), ("delete", output.delete)):
        if condition and (what := _wrong_condition(rows, condition)):
            yield f"outputs.{number}.{field}: {what}"


def _wrong_condition(rows: DataFrame, condition: str) -> str | None:
    return _wrong(lambda: rows.select(F.when(F.expr(condition), 1)))


def _runs_as_stream(session: SparkSession, rows: DataFrame, mode: str) -> None:
    """Raises AnalysisException where Spark would refuse to start a stream of these rows in this mode."""
    jvm: Any = session._jvm
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    output_mode = getattr(jvm.org.apache.spark.sql.streaming.OutputMode, mode.capitalize())()
    checker.checkForStreaming(rows._jdf.queryExecution().analyzed(), output_mode)


def _records(session: SparkSession, live: bool) -> DataFrame:
    """What Spark's Kafka source would give; no record is in it. live: as a stream."""
    none = session.readStream.format("rate").load() if live else session.range(0)
    columns = {**RECORD, "headers": dead_letters.HEADERS}
    return none.select(*(F.lit(None).cast(kind).alias(name) for name, kind in columns.items()))


def _writers(source: Input) -> dict[str, Writers]:
    """As if only the newest version of each contract had ever been written."""
    found = query_records.subjects(source)
    return {name: Writers(name, ((1, json.dumps(avro.latest(record))),)) for name, record in found.items()}


def _wrong(analyze: Callable[[], object]) -> str | None:
    try:
        analyze()
    except (PySparkException, JobError) as error:
        return _first_line(error)
    return None


def _first_line(error: Exception) -> str:
    """Of a message of Spark, behind which the plan or the SQL text follows."""
    line = next(iter(str(error).strip().splitlines()), "")
    return line if isinstance(error, PySparkException | JobError) else f"{type(error).__name__}: {line}"
