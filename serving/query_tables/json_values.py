"""Decoded values as JSON has them."""

import base64
import datetime as dt
import math
from decimal import Decimal
from typing import Any


def plain(value: Any) -> Any:
    """As JSON has it: bytes are base64, decimals text, numbers that are not finite null. A local time has no zone."""
    match value:
        case dict():
            return {name: plain(each) for name, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return str(value)
        case float():
            return value if math.isfinite(value) else None
        case dt.datetime() if value.tzinfo is not None:
            return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case _:
            return value
