"""A detector's state as numbers: one row per service, so that a table or a query keeps each service's state by itself."""

from collections.abc import Iterator
from functools import cache
from typing import Any, cast

import numpy as np

from jobs.transforms.detector.detector import State, new_state
from jobs.transforms.detector.moments import Floats, Ints, Pace


def packed(state: State) -> Floats:
    """All arrays of the state side by side, shape (services, `width`)."""
    return np.concatenate([each.reshape(len(each), -1).astype(float) for each in _arrays(state)], axis=1)


def unpacked(rows: Floats, pace: Pace) -> State:
    """The state whose `packed` is `rows`. Raises ValueError if the rows are not as wide as that of this pace."""
    if rows.ndim != 2 or rows.shape[1] != width(pace):
        raise ValueError(
            f"a state of shape {rows.shape}: with an interval of {pace.interval} s a service has {width(pace)} numbers"
        )
    cells = iter(np.split(rows, _ends(pace), axis=1))

    def filled(part: Any) -> Any:
        if isinstance(part, tuple):
            return type(part)(*map(filled, part))
        return next(cells).astype(part.dtype).reshape(len(rows), *part.shape[1:])

    return cast(State, filled(new_state(1, pace)))


def joined(one: State, other: State) -> State:
    """The services of both, those of the second after those of the first."""

    def together(part: Any, more: Any) -> Any:
        if isinstance(part, tuple):
            return type(part)(*map(together, part, more))
        return np.concatenate([part, more])

    return cast(State, together(one, other))


def renewed(state: State, who: Ints, pace: Pace) -> State:
    """The same state, but these services have no past."""
    rows = packed(state)
    rows[who] = packed(new_state(1, pace))
    return unpacked(rows, pace)


def width(pace: Pace) -> int:
    """Numbers in the state of one service."""
    return sum(each.size for each in _arrays(new_state(1, pace)))


@cache
def _ends(pace: Pace) -> tuple[int, ...]:
    sizes = [each.size for each in _arrays(new_state(1, pace))]
    return tuple(np.cumsum(sizes)[:-1].tolist())


def _arrays(part: Any) -> Iterator[Any]:
    if isinstance(part, tuple):
        for each in part:
            yield from _arrays(each)
    else:
        yield part
