"""Asking the API: one request, or one for each page of a long answer."""

import os
from typing import Any, Self, TypeVar
from urllib.parse import urljoin

import httpx
import pyarrow as pa
from pydantic import BaseModel

from sundial.errors import ApiError, refused
from sundial.rows import Rows

ARROW = "application/vnd.apache.arrow.stream"
T = TypeVar("T", bound=BaseModel)


class Asking:
    """The address of serving, and a connection to it."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:18000",
        timeout: float = 30.0,
        http: httpx.Client | None = None,
        token: str | None = None,
    ):
        self._url = url.rstrip("/")
        self._timeout = timeout
        self._http = http or httpx.Client()
        if token := token or os.environ.get("SUNDIAL_API_TOKEN"):
            self._http.headers["Authorization"] = f"Bearer {token}"
        self._owns = http is None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._owns:
            self._http.close()

    def _rows(self, model: type[T], path: str, limit: int | None = None, page: int | None = None, **query: Any) -> Rows[T]:
        """page: most rows that one answer may have; None: the path has no pages. limit: most rows of all pages."""
        if page is not None:
            query["limit"] = page if limit is None else max(1, min(page, limit))
        answer = self._get(path, ARROW, query)
        tables = [pa.ipc.open_stream(answer.content).read_all()]
        while "next" in answer.links and (limit is None or sum(map(len, tables)) < limit):
            answer = self._get(urljoin(path, answer.links["next"]["url"]), ARROW)
            tables.append(pa.ipc.open_stream(answer.content).read_all())
        return Rows(model, pa.concat_tables(tables).slice(0, limit))

    def _get(self, path: str, accept: str, query: dict[str, Any] | None = None) -> httpx.Response:
        url = f"{self._url}{path}"
        known = None if query is None else {name: value for name, value in query.items() if value is not None}
        try:
            answer = self._http.get(url, params=known, headers={"Accept": accept}, timeout=self._timeout)
        except httpx.HTTPError as error:
            raise ApiError(url, None, f"{type(error).__name__}: {error}", "Is serving there, at that address?") from error
        if answer.status_code != 200:
            raise refused(answer)
        return answer
