"""What came of one attempt to deliver a message."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Outcome:
    """taken: the receiver has it. again: try once more, at the earliest `after` seconds from now. refused: do not try again.
    left: of an e-mail that some have and others may get later: these others."""

    what: Literal["taken", "again", "refused"]
    reason: str
    after: float = 0.0
    left: tuple[str, ...] = ()
