"""Rows in the format that the request's `Accept` asks for: JSON, CSV, Parquet, or a stream of Arrow's.

A route that answers with rows is a plain function or goes to a thread, and converts there: no conversion keeps the event loop
waiting, and with it other requests.
"""

import functools
import io
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import orjson
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from fastapi import Depends, Request, Response
from pydantic import BaseModel, TypeAdapter

from serving.columns import flat, table_of
from serving.dependencies import PROBLEM, Responses
from serving.pagination import LINK
from serving.problems import ProblemError

JSON, CSV = "application/json", "text/csv"
PARQUET, ARROW = "application/vnd.apache.parquet", "application/vnd.apache.arrow.stream"


def _csv(table: pa.Table) -> bytes:
    """Text is data as it came, always in quotes, also if it begins as a formula does; null is nothing, without quotes."""
    written = io.BytesIO()
    pyarrow.csv.write_csv(flat(table), written)
    return written.getvalue()


def _parquet(table: pa.Table) -> bytes:
    written = io.BytesIO()
    pyarrow.parquet.write_table(table, written)
    return written.getvalue()


def _arrow(table: pa.Table) -> bytes:
    written = io.BytesIO()
    with pa.ipc.new_stream(written, table.schema) as stream:
        stream.write_table(table)
    return written.getvalue()


TABULAR: dict[str, Callable[[pa.Table], bytes]] = {CSV: _csv, PARQUET: _parquet, ARROW: _arrow}
FORMATS = (JSON, *TABULAR)  # the first is that of a request that does not mind
NOT_ACCEPTABLE = PROBLEM | {"description": f"The request accepts none of {', '.join(FORMATS)}."}
BINARY = {"schema": {"type": "string", "format": "binary"}}
ROWS: Responses = {
    200: {"content": {CSV: {"schema": {"type": "string"}}, PARQUET: BINARY, ARROW: BINARY}},
    406: NOT_ACCEPTABLE,
}
PAGED: Responses = ROWS | {200: ROWS[200] | {"headers": {"Link": LINK}}}


def accepted(accept: str) -> str | None:
    """The format that an `Accept` wants most (RFC 9110); None: it takes none. Of two alike, the first of FORMATS."""
    ranges: dict[str, float] = {}
    for each in accept.lower().split(","):
        range_, *parameters = (part.strip() for part in each.split(";"))
        weights = [part[2:] for part in parameters if part.startswith("q=")]
        ranges[range_] = _weight(weights[0]) if weights else 1.0

    def weight(format_: str) -> float:
        wanted = (format_, f"{format_.partition('/')[0]}/*", "*/*")
        return next((ranges[each] for each in wanted if each in ranges), 0.0)

    best = max(FORMATS, key=weight)
    return best if weight(best) > 0 else None


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


async def _wanted(request: Request) -> str:
    accept = ", ".join(request.headers.getlist("accept")) or "*/*"
    found = accepted(accept)
    if found is None:
        remedy = f"Accept one of: {', '.join(FORMATS)}."
        raise ProblemError(406, "not-acceptable", "No such format", f"Accept is {accept[:200]!r}.", remedy)
    return found


Format = Annotated[str, Depends(_wanted)]


def body_of(format_: str, model: type[BaseModel], rows: Sequence[BaseModel] | pa.Table) -> bytes:
    """rows: models, or a table with the columns of `model` (serving.columns)."""
    if format_ != JSON:
        return TABULAR[format_](rows if isinstance(rows, pa.Table) else table_of(model, rows))
    if isinstance(rows, pa.Table):
        return orjson.dumps(rows.to_pylist(), option=orjson.OPT_UTC_Z)
    return _listed(model).dump_json(list(rows))


@functools.cache
def _listed(model: type[BaseModel]) -> TypeAdapter[Any]:
    return TypeAdapter(list[model])  # type: ignore[valid-type]


def answer(format_: str, model: type[BaseModel], rows: Sequence[BaseModel] | pa.Table, link: str | None = None) -> Response:
    """link: the header `Link` of a page that is not the last."""
    return response(format_, body_of(format_, model, rows), {} if link is None else {"Link": link})


def response(format_: str, body: bytes, headers: dict[str, str]) -> Response:
    return Response(body, headers=headers | {"Content-Type": media_type(format_), "Vary": "Accept"})


def media_type(format_: str) -> str:
    return f"{format_}; charset=utf-8; header=present" if format_ == CSV else format_
