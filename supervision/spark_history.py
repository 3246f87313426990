"""Where a Spark application can be looked at, while it runs and later: SUNDIAL_SPARK_HISTORY, the history server's address.

The driver says its application's id in a line of its output, and the streams' in their run-state; a link is made of that id.
"""

import re

HISTORY = "SUNDIAL_SPARK_HISTORY"
_SAID = re.compile(r"\bSpark application ([\w-]+)\s*$")


def line(application: str) -> str:
    """What a driver prints of itself."""
    return f"Spark application {application}"


def application_in(text: str) -> str | None:
    """The id in such a line; None of any other."""
    found = _SAID.search(text)
    return found and found[1]


def page(address: str, application: str | None) -> str | None:
    """The page of an application at the history server of that address; None where there is no server, or no application."""
    return f"{address.rstrip('/')}/history/{application}/" if address and application else None
