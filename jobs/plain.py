"""Values in JSON and lines of text, as Columns: what `wire` is for Avro. A contract gives JSON's fields and their types."""

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from contracts.queries import LINE

_BROKEN = "_broken"  # where Spark puts a text that is no such JSON


def decode_json(payload: str, columns: StructType) -> Column:
    """The values of a binary column of JSON objects as structs; with fields of null where `json_reason` says why.

    Fields that the contract does not have are left alone. Times are ISO 8601.
    """
    wanted = StructType([StructField(each.name, each.dataType) for each in columns]).add(_BROKEN, "string")
    return F.from_json(F.col(payload).cast("string"), wanted, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BROKEN})


def json_reason(payload: str, decoded: Column, columns: StructType) -> Column:
    """Why a value that went through `decode_json` is none; null where it is one."""
    missing = F.concat_ws(", ", *(F.when(decoded[each.name].isNull(), each.name) for each in columns if not each.nullable))
    return (
        F.when(F.col(payload).isNull(), "no value (tombstone) where a record belongs")
        .when(decoded[_BROKEN].isNotNull(), "value is not a JSON object with the contract's types")
        .when(missing != "", F.concat(F.lit("the contract wants a value: "), missing))
    )


def decode_text(payload: str) -> Column:
    """The values of a binary column as structs of one line of UTF-8 text."""
    return F.struct(F.col(payload).cast("string").alias(LINE))


def text_reason(payload: str) -> Column:
    """Why a value is no text; null where it is."""
    return F.when(F.col(payload).isNull(), "no value (tombstone) where a line belongs").when(
        ~F.is_valid_utf8(F.col(payload).cast("string")), "value is not UTF-8 text"
    )


def encode_json(columns: StructType) -> Column:
    """A row whose columns are named so, as a JSON object (binary); nulls are left out."""
    return F.to_json(F.struct(*(F.col(each.name) for each in columns))).cast("binary")
