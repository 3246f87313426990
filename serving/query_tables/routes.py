"""The API of queries: which are declared, and what their tables hold."""

from typing import Annotated, NamedTuple

import anyio.to_thread
from fastapi import APIRouter, Query, Response

from contracts import queries
from contracts.query_io import Output
from serving import rows
from serving.dependencies import INVALID, PROBLEM, CurrentState, Limit, Responses
from serving.pagination import AskedPlace, Place, unknown_cursor
from serving.problems import ProblemError
from serving.query_tables.kept_rows import KeptRows, Record
from serving.query_tables.models import OutputInfo, QueryInfo, QueryRow, QueryTable
from serving.rows import JSON, PAGED, ROWS, Format
from serving.state import State

REFUSED: Responses = {
    404: PROBLEM | {"description": "No such query."},
    503: PROBLEM | {"description": "The table is being read, is too large, or Kafka or the registry does not answer."},
    **INVALID,
}
router = APIRouter(tags=["queries"])


@router.get("/api/queries", summary="Every declared query", response_model=list[QueryInfo], responses=ROWS)
def declared(state: CurrentState, wanted: Format) -> Response:
    return rows.answer(wanted, QueryInfo, [_info(each) for each in state.queries.look().values()])


Text = Annotated[str | None, Query(max_length=1000)]


@router.get(
    "/api/queries/{query}/rows",
    summary="What the table of a query holds: by key, prefix or range, with the offsets up to which it is read",
    response_model=QueryTable,
    responses=PAGED | REFUSED,
)
async def table(
    query: str,
    state: CurrentState,
    wanted: Format,
    place: AskedPlace,
    topic: Annotated[str | None, Query(description="Which of the query's outputs, if it has several tables.")] = None,
    key: Annotated[Text, Query(description="This key only.")] = None,
    prefix: Annotated[Text, Query(description="Keys that begin with this text.")] = None,
    first: Annotated[Text, Query(alias="from", description="This key and greater ones.")] = None,
    last: Annotated[Text, Query(alias="to", description="This key and smaller ones.")] = None,
    limit: Limit = 100,
) -> Response:
    """Keys ascend by the bytes of their text in UTF-8. The first request reads the topic from its beginning; from then on serving
    follows it, until nobody has asked for ten minutes. In formats other than JSON, the rows alone (schema QueryRow)."""
    wish = Wish(key, prefix, first, last)

    def answer() -> Response:
        return _answer(state, query, topic, wish, limit, place, wanted)

    return await anyio.to_thread.run_sync(answer, limiter=state.query_tables.requests)


class Wish(NamedTuple):
    """Which keys are asked for."""

    key: str | None
    prefix: str | None
    first: str | None
    last: str | None

    def of(self, kept: KeptRows, after: bytes | None, limit: int) -> list[tuple[bytes, Record]]:
        if self.prefix is not None:
            return kept.beginning_with(self.prefix.encode(), after, limit)
        begin, end = (self.key, self.key) if self.key is not None else (self.first or "", self.last)
        return kept.between(begin.encode(), None if end is None else end.encode(), after, limit)

    def check(self) -> None:
        given = {
            "key": self.key is not None,
            "prefix": self.prefix is not None,
            "from": bool((self.first, self.last) != (None, None)),
        }
        if sum(given.values()) > 1:
            one, other = [name for name in given if given[name]][:2]
            raise invalid(one, f"it does not go with {other}.", "Give a key, a prefix, or a range (from, to).")


def _answer(state: State, query: str, topic: str | None, wish: Wish, limit: int, place: Place, wanted: str) -> Response:
    output = _table_of(declared_query(query, state), topic)
    wish.check()
    after = _bytes(place.key(str))
    found, offsets = state.query_tables.ask(output.topic, lambda kept: wish.of(kept, after, limit + 1))
    link = place.link((found[limit - 1][0].decode("latin-1"),)) if len(found) > limit else None
    shown = [state.query_tables.row(*each, output) for each in found[:limit]]
    if wanted != JSON:
        return rows.answer(wanted, QueryRow, shown, link)
    body = QueryTable(query=query, topic=output.topic, offsets=offsets, rows=shown).model_dump_json().encode()
    return rows.response(JSON, body, {} if link is None else {"Link": link})


def _table_of(query: queries.Query, topic: str | None) -> Output:
    tables = tables_of(query, "topic")
    if topic is None and len(tables) > 1:
        raise invalid("topic", f"{query.name} writes several tables.", f"Name one of: {', '.join(tables)}.")
    if topic is not None and topic not in tables:
        raise invalid("topic", f"{query.name} writes no table {topic[:80]!r}.", f"Name one of: {', '.join(tables)}.")
    return tables[topic] if topic is not None else next(iter(tables.values()))


def invalid(parameter: str, what: str, remedy: str) -> ProblemError:
    return ProblemError(422, "invalid-parameter", "A parameter is not valid", f"{parameter}: {what}", remedy)


def declared_query(name: str, state: State) -> queries.Query:
    """The declared query of that name."""
    known = state.queries.look()
    if name not in known:
        remedy = f"Ask for one of: {', '.join(known) or 'none'}. A query is declared by a file under schemas/queries/."
        raise ProblemError(404, "unknown-query", "No such query", f"No query {name[:80]!r} is declared.", remedy)
    return known[name]


def tables_of(query: queries.Query, parameter: str) -> dict[str, Output]:
    """The tables that the query writes, by topic. parameter: of the request, which is not valid if there are none."""
    tables = {each.topic: each for each in query.outputs if each.compacted}
    if not tables:
        raise invalid(parameter, f"{query.name} writes no table.", "Read its topic: sundial read TOPIC.")
    return tables


def _bytes(after: tuple[str] | None) -> bytes | None:
    """The key of a cursor, in which each character is a byte."""
    try:
        return None if after is None else after[0].encode("latin-1")
    except UnicodeEncodeError:
        raise unknown_cursor() from None


def _info(query: queries.Query) -> QueryInfo:
    outputs = [
        OutputInfo(topic=each.topic, record=each.record, encoding=each.encoding, table=each.compacted) for each in query.outputs
    ]
    inputs = sorted({each.topic for each in query.inputs.values()})
    return QueryInfo(
        name=query.name, description=query.description, application=query.application, inputs=inputs, outputs=outputs
    )
