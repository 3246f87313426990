"""Values in JSON and lines of text, as Columns: what `wire` is for Avro. A contract gives JSON's fields and their types."""

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType, TimestampNTZType, TimestampType

from contracts.query_io import LINE
from jobs.transforms import access_log_lines

_VALUE, _BROKEN = "value", "_broken"  # where Spark puts the object, and a text that is none
_DATE, _CLOCK = r"^\d{4}-\d\d-\d\d", r"([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?$"
_MILLISECONDS = r"^-?\d{1,14}$"


def decode_json(payload: str, columns: StructType) -> Column:
    """What is read of a binary column of JSON objects, for `json_reason` and `json_fields`. To be selected under a name of its
    own before it is taken apart, so that Spark reads once.

    Spark reads the first object of a text and leaves alone what follows. So the text is read as a field of an object, and as an
    element of an array. What is behind an object would have to go on with a field for the one and with an element for the other.
    """
    read = StructType([StructField(each.name, StringType() if _is_time(each.dataType) else each.dataType) for each in columns])
    wanted = StructType().add(_VALUE, read).add(_BROKEN, "string")
    text = F.col(payload).cast("string")
    elements = F.from_json(F.concat(F.lit("["), text, F.lit("]")), ArrayType(StringType()))
    field = F.when(F.size(elements) == 1, F.concat(F.lit(f'{{"{_VALUE}":'), text, F.lit("}")))
    return F.from_json(field, wanted, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BROKEN})


def json_fields(decoded: Column, columns: StructType) -> dict[str, Column]:
    """The contract's fields of what went through `decode_json`; others are left alone. Times are ISO 8601, UTC where they name no
    offset, or epoch milliseconds."""
    return {each.name: _typed(decoded[_VALUE][each.name], each.dataType) for each in columns}


def json_reason(payload: str, decoded: Column, columns: StructType) -> Column:
    """Why a value that went through `decode_json` is none; null where it is one."""
    read, fields = decoded[_VALUE], json_fields(decoded, columns)
    broken = decoded[_BROKEN].isNotNull() | read.isNull()
    for each in columns:
        if _is_time(each.dataType):
            broken |= read[each.name].isNotNull() & fields[each.name].isNull()
    missing = F.concat_ws(", ", *(F.when(read[each.name].isNull(), each.name) for each in columns if not each.nullable))
    return (
        F.when(F.col(payload).isNull(), "no value (tombstone) where a record belongs")
        .when(~_is_text(payload), "value is not UTF-8 text")
        .when(broken, "value is not a JSON object with the contract's types")
        .when(missing != "", F.concat(F.lit("the contract wants a value: "), missing))
    )


def decode_text(payload: str) -> Column:
    """The values of a binary column as structs of one line of UTF-8 text."""
    return F.struct(F.col(payload).cast("string").alias(LINE))


def text_reason(payload: str) -> Column:
    """Why a value is no text; null where it is."""
    return F.when(F.col(payload).isNull(), "no value (tombstone) where a line belongs").when(
        ~_is_text(payload), "value is not UTF-8 text"
    )


def decode_access_log(payload: str) -> Column:
    """What is read of a binary column of an access log's lines, for `access_log_reason` and `access_log_lines.fields`."""
    return access_log_lines.groups(F.col(payload).cast("string"))


def access_log_reason(payload: str, decoded: Column) -> Column:
    """Why a value that went through `decode_access_log` is none; null where it is one."""
    return F.coalesce(text_reason(payload), access_log_lines.reason(decoded))


def encode_json(columns: StructType) -> Column:
    """A row whose columns are named so, as a JSON object (binary); nulls are left out."""
    return F.to_json(F.struct(*(F.col(each.name) for each in columns))).cast("binary")


def _is_text(payload: str) -> Column:
    return F.is_valid_utf8(F.col(payload).cast("string"))


def _is_time(kind: DataType) -> bool:
    return isinstance(kind, TimestampType | TimestampNTZType)


def _typed(read: Column, kind: DataType) -> Column:
    """Spark's own reader of JSON takes a number for seconds, and a time without a date for today's."""
    if not _is_time(kind):
        return read
    pattern = _DATE + _CLOCK if isinstance(kind, TimestampNTZType) else _DATE  # a wall clock's time has no offset
    number = F.timestamp_millis(read.cast("bigint")).cast(kind)
    return F.when(read.rlike(_MILLISECONDS), number).when(read.rlike(pattern), read.try_cast(kind))
