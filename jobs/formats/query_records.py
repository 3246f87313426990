"""A query's rows: from Kafka records, with an Error for each that is none, and its result's rows to records of its topics."""

import importlib
import inspect

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from contracts import avro
from contracts.queries import CHANGES, Query
from contracts.query_io import LINE, ORIGIN, ROW_DELETED, ROW_OFFSET, ROW_TIME, Input, Key, Output
from jobs.errors import JobError
from jobs.formats import dead_letters, text, time_bounds, wire
from jobs.formats.wire import Writers
from jobs.transforms import access_log_lines, compacted_topics


def subjects(source: Input) -> dict[str, str]:
    """The record of each subject that an input is read from: its values', and its keys' where those have a contract."""
    return avro.subjects(source.declared_topic)


def decode(records: DataFrame, source: Input, writers: dict[str, Writers], beside: tuple[str, ...] = ()) -> DataFrame:
    """Records of an input's topic as Spark's Kafka source gives them (key, value, partition, offset, timestamp, and headers where
    it is asked for them) as Row struct (see Input), or else Error string, the other null, and where it came from, as
    `dead_letters.letter` takes it: Key and Bytes binary, KafkaPartition int, KafkaOffset long, Headers.

    writers: by subject. beside: further columns, which stay as they are.
    """
    origin = {"key": "Key", "value": "Bytes", "partition": "KafkaPartition", "offset": "KafkaOffset", "timestamp": "At"}
    columns = [F.col(name).alias(column) for name, column in origin.items()]
    taken = records.select(*columns, _headers(records).alias("Headers"), *beside)
    value, key = F.col("_value"), F.col("_key")
    decoded, why, fields = _value(records.sparkSession, source, value, writers)
    read = taken.select("*", decoded.alias("_value"), _key(source, writers).alias("_key"))
    deleted = F.lit(source.is_table) & F.col("Bytes").isNull()
    error = F.coalesce(F.when(~deleted, why), _key_error(source, key, writers))
    if source.key:
        fields |= {source.key.column: _named(key, source.key)}
    columns = [column.alias(name) for name, column in fields.items()]
    known = ["Headers", deleted.alias(ROW_DELETED), error.alias("Error"), *beside]
    flat = read.select(*columns, F.struct(*origin.values(), *known).alias(ORIGIN))
    good, deleted = F.col(ORIGIN)["Error"].isNull(), F.col(ORIGIN)[ROW_DELETED]
    time = F.when(deleted, F.col(ORIGIN)["At"]).otherwise(_time(source))  # a record that deletes has no fields
    own = {ROW_TIME: F.when(good, time), ROW_OFFSET: F.col(ORIGIN)["KafkaOffset"]}
    own |= {ROW_DELETED: deleted} if source.is_table else {}
    wrong = F.when(
        ~deleted, F.coalesce(F.when(F.col(ROW_TIME).isNull(), f"no {source.time} time"), _too_far(source), _invalid(source))
    )
    judged = flat.withColumns(own).withColumn("_error", F.coalesce(F.col(ORIGIN)["Error"], wrong))
    return judged.select(
        F.when(F.col("_error").isNull(), F.struct(*fields, *own)).alias("Row"),
        F.col("_error").alias("Error"),
        *(F.col(ORIGIN)[name].alias(name) for name in ("Key", "Bytes", "KafkaPartition", "KafkaOffset", "Headers", *beside)),
    )


def records(
    query: Query,
    decoded: dict[str, DataFrame],
    schema_ids: dict[str, int],
    looked_up: dict[str, DataFrame] | None = None,
) -> DataFrame:
    """Kafka records (topic, key, value, headers) of what a query writes: its result, and the dead letters of its inputs.

    decoded: what `decode` makes of each input. schema_ids: registry id of the values of each output topic that is Avro.
    looked_up: what `decode` makes of the whole topics of the tables that live streams are joined with, as a batch.
    """
    read = decoded | (looked_up or {})
    found = result(query, {alias: good(rows, query.inputs[alias]) for alias, rows in read.items()})
    written = encode(found, query, schema_ids)
    for alias, rows in decoded.items():
        if not query.inputs[alias].dead_letters:
            continue
        letter = F.struct(*dead_letters.letter(query.inputs[alias].topic, F.col("Headers")))
        written = written.union(_each(rows, F.when(F.col("Error").isNotNull(), letter)))
    return written


def result(query: Query, inputs: dict[str, DataFrame], known: object | None = None) -> DataFrame:
    """What the query makes of its inputs' rows, live or not. SQL sees them as views, which stay in the session of the inputs.
    known: of a query that `begins_with` something, which has the one input TOGETHER, as `together.decode` gives it."""
    if query.reads_changes:
        inputs = {CHANGES: compacted_topics.changes(inputs, next(iter(query.inputs.values())).key.column)}
    else:
        looked_up = {alias: compacted_topics.last_rows(inputs[alias], each.key.column) for alias, each in query.looked_up.items()}
        inputs = inputs | looked_up
    if query.transform:
        module = importlib.import_module(f"jobs.transforms.queries.{query.transform}")
        if not (function := getattr(module, query.transform, None)):
            raise JobError(f"query {query.name}: no function {query.transform} in {module.__name__}")
        parameters = query.parameters | ({} if known is None else {"known": known})
        try:
            inspect.signature(function).bind(inputs, **parameters)
        except TypeError as error:
            raise JobError(f"query {query.name}: parameters: {error} of {query.transform} in {module.__name__}") from error
        return function(inputs, **parameters)
    for alias, rows in inputs.items():
        rows.createOrReplaceTempView(alias)
    return next(iter(inputs.values())).sparkSession.sql(query.sql, query.parameters)


def encode(rows: DataFrame, query: Query, schema_ids: dict[str, int]) -> DataFrame:
    """A result as Kafka records of the outputs that want its rows. A row that its output's contract does not allow, or that is
    too large for a record, becomes a dead letter of that output: the row as JSON, with the reason. Raises JobError where the
    result has not a contract's columns.
    """
    # In a projection of their own: a record's size decides what becomes of it, and its bytes shall not be made twice.
    written = {f"_output{n}": _output(rows, query, each, schema_ids.get(each.topic)) for n, each in enumerate(query.outputs)}
    row = F.struct(*rows.columns)
    records = [_record(F.col(name), row, query, each) for name, each in zip(written, query.outputs, strict=True)]
    return _each(rows.withColumns(written), *records)


def _output(rows: DataFrame, query: Query, output: Output, schema_id: int | None) -> Column:
    """Key string, Error string, Value binary of a row for one output; null where the output does not want the row."""
    required = _required(rows, query, output)
    key = F.expr(output.key).cast("string")
    deleted = F.coalesce(F.expr(output.delete or "FALSE"), F.lit(False))
    nulls = F.concat_ws(", ", *(F.when(~deleted & F.col(name).isNull(), name) for name in required))
    wrong = F.when(key.isNull(), "no key").when(
        nulls != "", F.concat(F.lit(f"null where {output.record} wants a value: "), nulls)
    )
    value = F.when(wrong.isNull() & ~deleted, _written(rows.sparkSession, output, schema_id))
    made = F.struct(key.alias("Key"), wrong.alias("Error"), value.alias("Value"))
    return F.when(F.expr(output.when), made) if output.when else made


def _record(made: Column, row: Column, query: Query, output: Output) -> Column:
    """The record of what `_output` made of a row, or its dead letter; null where the output does not want the row."""
    size = F.length(made["Key"].cast("binary")) + F.coalesce(F.length(made["Value"]), F.lit(0))
    too_large = F.concat(F.lit("record of "), size, F.lit(f" bytes; it may have {dead_letters.MOST_BYTES:,}"))
    wrong = F.coalesce(made["Error"], F.when(size > dead_letters.MOST_BYTES, too_large))
    good = F.struct(
        F.lit(output.topic).alias("topic"),
        made["Key"].cast("binary").alias("key"),
        made["Value"].alias("value"),
        F.lit(None).cast(dead_letters.HEADERS).alias("headers"),
    )
    letter = F.struct(*dead_letters.row_letter(output.topic, query.name, made["Key"], wrong, F.to_json(row)))
    return F.when(made.isNotNull(), F.when(wrong.isNull(), good).otherwise(letter))


def _written(session: SparkSession, output: Output, schema_id: int | None) -> Column:
    if output.encoding == "json":
        return text.encode_json(wire.row_type(session, output.record, output.version))
    return wire.encode(output.record, schema_id, output.version)


def misfits(rows: DataFrame, output: Output) -> list[str]:
    """What a result lacks of its output's contract, column by column."""
    has = {field.name: field.dataType.simpleString() for field in rows.schema}
    return [
        f"{field.name} is {has.get(field.name, 'missing')}, must be {field.dataType.simpleString()}"
        for field in wire.row_type(rows.sparkSession, output.record, output.version)
        if has.get(field.name) != field.dataType.simpleString()
    ]


def _required(rows: DataFrame, query: Query, output: Output) -> list[str]:
    """Columns that must not be null. Raises JobError listing what of the contract the result lacks."""
    if wrong := misfits(rows, output):
        raise JobError(f"query {query.name}: the result is no {output.record} for {output.topic}: {'; '.join(wrong)}")
    contract = wire.row_type(rows.sparkSession, output.record, output.version)
    return [field.name for field in contract if not field.nullable]


def good(decoded: DataFrame, source: Input) -> DataFrame:
    """The rows among what `decode` makes of an input, with its watermark."""
    rows = _each(decoded, F.col("Row"))
    return rows.withWatermark(ROW_TIME, source.lateness) if source.lateness else rows


def _each(rows: DataFrame, *structs: Column) -> DataFrame:
    """The structs of every row that are not null, as rows: no, one or several for each.

    Not by filters and unions. Spark moves a filter in front of what it asks about, and decodes once more for it. As in
    `feed_records.route`, the structs stand in a projection of their own, and explode_outer keeps them from being computed twice.
    """
    arrays = rows.select(F.array(*structs).alias("_structs"))
    return arrays.select(F.explode_outer("_structs").alias("_struct")).where(F.col("_struct").isNotNull()).select("_struct.*")


def _headers(records: DataFrame) -> Column:
    return F.col("headers") if "headers" in records.columns else F.lit(None).cast(dead_letters.HEADERS)


def _time(source: Input) -> Column:
    return {
        "event": F.expr(source.timestamp or "NULL"),
        "broker": F.col(ORIGIN)["At"],
        "processing": F.current_timestamp(),
    }[source.time].cast("timestamp")


def _too_far(source: Input) -> Column:
    """Why an event's time is not near enough to the broker's clock."""
    if source.time != "event":
        return F.lit(None).cast("string")
    return time_bounds.reason(ROW_TIME, F.col(ROW_TIME), F.col(ORIGIN)["At"], source.most_ahead, source.most_behind)


def _value(
    session: SparkSession, source: Input, decoded: Column, writers: dict[str, Writers]
) -> tuple[Column, Column, dict[str, Column]]:
    """What decodes the values of an input; and of the column that then holds them, why one is none, and the fields by name."""
    if source.encoding == "text":
        return text.decode_text("Bytes"), text.text_reason("Bytes"), {LINE: decoded[LINE]}
    if source.encoding == "access-log":
        return text.decode_access_log("Bytes"), text.access_log_reason("Bytes", decoded), access_log_lines.fields(decoded)
    if source.encoding == "json":
        columns = wire.row_type(session, source.record)
        fields = text.json_fields(decoded, columns)
        return text.decode_json("Bytes", columns), text.json_reason("Bytes", decoded, columns), fields
    known = writers[avro.subject(source.topic)]
    why = wire.reason("Bytes", decoded, source.record, known)
    return wire.decode("Bytes", source.record, known), why, wire.fields(decoded, source.record)


def _invalid(source: Input) -> Column:
    return F.when(~F.coalesce(F.expr(source.valid or "TRUE"), F.lit(False)), f"not valid: {source.valid}")


def _key(source: Input, writers: dict[str, Writers]) -> Column:
    if source.key and source.key.record:
        return wire.decode("Key", source.key.record, writers[avro.key_subject(source.topic)])
    return F.col("Key").cast("string")


def _named(key: Column, declared: Key) -> Column:
    """The key as the column that the declaration names."""
    if not declared.record:
        return key
    return F.struct(*(column.alias(name) for name, column in wire.fields(key, declared.record).items()))


def _key_error(source: Input, key: Column, writers: dict[str, Writers]) -> Column:
    if source.key and source.key.record:
        return wire.reason("Key", key, source.key.record, writers[avro.key_subject(source.topic)], what="key")
    if source.key:
        return F.when(key.isNull(), "no key").when(~F.is_valid_utf8(key), "key is not UTF-8 text")
    return F.lit(None).cast("string")
