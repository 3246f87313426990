"""Long answers page by page. A page links to the next one (header `Link`, RFC 8288), whatever format its rows have.

A cursor is the sort key of the last row of a page, not a number of rows: rows that come or go meanwhile move no other row to
another page.
"""

import base64
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import dropwhile, islice
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import urlencode

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from fastapi import Depends, Query, Request

from serving.problems import ProblemError

Key = tuple[int | str, ...]
T = TypeVar("T")

EXACT = 2**53  # whole numbers below it are the same in every reader of JSON
LINK = {"schema": {"type": "string"}, "description": 'Address of the next page, `rel="next"`; missing on the last one.'}


@dataclass(frozen=True)
class Page(Generic[T]):
    """link: value of the header `Link`; None: it is the last page."""

    rows: list[T]
    link: str | None


@dataclass(frozen=True)
class Place:
    """Where the page that was asked for begins."""

    after: Key | None  # key of the row before it; None: it is the first page
    query: tuple[tuple[str, str], ...]  # of the request, without the cursor

    def needed(self, limit: int, all_of_them: int) -> int:
        """How many of the first rows `cut` needs."""
        return limit + 1 if self.after is None else all_of_them

    def cut(self, rows: Iterable[T], limit: int, key: Callable[[T], Key]) -> Page[T]:
        """rows: in ascending order of their keys, which no two share."""
        after = self.after
        try:
            rest = rows if after is None else dropwhile(lambda row: key(row) <= after, rows)
            found = list(islice(rest, limit + 1))
        except TypeError:
            raise unknown_cursor() from None
        return Page(found[:limit], self.link(key(found[limit - 1])) if len(found) > limit else None)

    def cut_table(self, table: pa.Table, limit: int, *names: str) -> tuple[pa.Table, str | None]:
        """The rows of the page, and its link. names: the columns, of numbers or text, by which the rows ascend."""
        after = self.key(*(str if pa.types.is_string(table.schema.field(name).type) else int for name in names))
        if after is not None:
            later = pa.scalar(False)
            for name, value in reversed(list(zip(names, after, strict=True))):
                later = pc.or_(pc.greater(table[name], value), pc.and_(pc.equal(table[name], value), later))
            table = table.filter(later)
        page = table.slice(0, limit)
        more = len(table) > limit
        return page, self.link(tuple(page[name][-1].as_py() for name in names)) if more else None

    def key(self, *kinds: type) -> Any:
        """The key of the row before the page, with values of these types; None: it is the first page."""
        if self.after is not None and tuple(map(type, self.after)) != kinds:
            raise unknown_cursor()
        return self.after

    def link(self, last: Key) -> str:
        """last: key of the page's last row. The address is relative to that of the request: it holds behind every proxy."""
        return f'<?{urlencode([*self.query, ("cursor", encoded(last))])}>; rel="next"'


async def _place(
    request: Request,
    cursor: Annotated[
        str | None,
        Query(max_length=5000, description="Where the page begins: as the header Link of the page before says."),
    ] = None,
) -> Place:
    query = tuple((name, value) for name, value in request.query_params.multi_items() if name != "cursor")
    return Place(None if cursor is None else decoded(cursor), query)


AskedPlace = Annotated[Place, Depends(_place)]


def encoded(key: Key) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(key)).decode().rstrip("=")


def decoded(cursor: str) -> Key:
    try:
        key = orjson.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True))
    except ValueError:
        raise unknown_cursor() from None
    if not isinstance(key, list) or not all(type(each) is str or (type(each) is int and abs(each) < EXACT) for each in key):
        raise unknown_cursor()
    return tuple(key)


def unknown_cursor() -> ProblemError:
    remedy = "Take the address of the next page from the header Link of the page before, or leave the cursor out."
    return ProblemError(422, "invalid-parameter", "A parameter is not valid", "cursor: no page of this answer has it.", remedy)
