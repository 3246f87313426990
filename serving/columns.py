"""Rows of the API's models as an Arrow table: the types of its columns follow from those of the model's fields."""

import datetime as dt
import functools
import math
import types
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel

from serving.models import LOCAL

INSTANT = pa.timestamp("ms", "UTC")
SCALARS: dict[Any, pa.DataType] = {
    dt.datetime: INSTANT,
    dt.date: pa.date32(),
    dt.time: pa.time32("s"),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    Any: pa.string(),
}


@functools.cache
def schema_of(model: type[BaseModel]) -> pa.Schema:
    """An instant is a timestamp in UTC, a model a struct. Local times with their offset are text, and so is JSON of any shape."""
    return pa.schema([_column(name, info.annotation, info.metadata) for name, info in model.model_fields.items()])


def table_of(model: type[BaseModel], rows: Iterable[BaseModel]) -> pa.Table:
    """Numbers that are not finite are null, as in JSON."""
    schema = schema_of(model)
    return pa.Table.from_pylist([_cell(row, pa.struct(schema)) for row in rows], schema)


def table_of_columns(model: type[BaseModel], columns: Mapping[str, Any]) -> pa.Table:
    """columns: arrays by the names of the model's fields. Instants are epoch milliseconds, and doubles may be NaN."""
    schema = schema_of(model)
    return pa.Table.from_arrays([_array(columns[field.name], field.type) for field in schema], schema=schema)


def flat(table: pa.Table) -> pa.Table:
    """The table without nested columns. A field of a struct becomes the column `struct.field`, a list becomes JSON, and an
    instant becomes text as in RFC 3339."""
    while any(pa.types.is_struct(column.type) for column in table.columns):
        table = table.flatten()
    return pa.table({name: _scalars(column) for name, column in zip(table.column_names, table.columns, strict=True)})


def _scalars(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type):
        return pc.strftime(column, format="%Y-%m-%dT%H:%M:%SZ")
    if pa.types.is_list(column.type):
        return pa.chunked_array([[None if each is None else _json(each) for each in column.to_pylist()]], pa.string())
    return column


def _column(name: str, annotation: Any, metadata: list[Any]) -> pa.Field:
    return pa.field(name, pa.string() if LOCAL in metadata else _type(annotation))


def _type(annotation: Any) -> pa.DataType:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(arguments[0])
    if origin in (Union, types.UnionType):
        (known,) = (each for each in arguments if each is not type(None))
        return _type(known)
    if origin is Literal:
        return pa.string()
    if origin is list:
        return pa.list_(_type(arguments[0]))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return pa.struct(schema_of(annotation))
    return SCALARS[annotation]


def _cell(value: Any, kind: pa.DataType) -> Any:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if pa.types.is_struct(kind):
        return {field.name: _cell(getattr(value, field.name), field.type) for field in kind}
    if pa.types.is_list(kind):
        return [_cell(each, kind.value_type) for each in value]
    if pa.types.is_timestamp(kind):
        return value.replace(microsecond=value.microsecond // 1000 * 1000)
    if pa.types.is_string(kind) and not isinstance(value, str):
        return value.isoformat() if isinstance(value, dt.datetime) else _json(value)
    return value


def _array(column: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        return pa.array(column, mask=~np.isfinite(column)).cast(kind)
    return pa.array(column, kind)


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_UTC_Z).decode()
