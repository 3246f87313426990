"""Rows of an answer: as objects with types, and as tables of pandas, Polars and Arrow."""

import importlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import pyarrow as pa
from pydantic import BaseModel

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T", bound=BaseModel)


class Rows(Sequence[T], Generic[T]):
    """A list of `model`. Only rows that are looked at become objects; the tables come from Arrow's columns."""

    def __init__(self, model: type[T], table: pa.Table):
        self._model, self._table = model, table

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> "Rows[T]": ...
    def __getitem__(self, index: int | slice) -> "T | Rows[T]":
        places = range(len(self))[index]
        if isinstance(places, range):
            return Rows(self._model, self._table.take(pa.array(places, pa.int64())))
        return self._model.model_validate(self._table.slice(places, 1).to_pylist()[0])

    def __iter__(self) -> Iterator[T]:
        return (self._model.model_validate(row) for row in self._table.to_pylist())

    def __repr__(self) -> str:
        return f"<{len(self)} rows of {self._model.__name__}>"

    def to_arrow(self) -> pa.Table:
        return self._table

    def to_pandas(self) -> "pd.DataFrame":
        """Instants are datetime64[ms, UTC]."""
        return self._table.to_pandas()

    def to_polars(self) -> Any:
        """A polars.DataFrame. Raises ImportError where Polars is not installed."""
        try:
            polars = importlib.import_module("polars")
        except ImportError as error:
            raise ImportError("to_polars() needs Polars, which is not installed: pip install polars") from error
        return polars.from_arrow(self._table)
