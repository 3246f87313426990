"""Access logs of web servers: the columns of a line, and what a feed declares that counts lines."""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from contracts.declarations import Declared, Name, TopicName

# Of a line of the Common or Combined Log Format; null where the server wrote a dash, or where the format has no such field.
COLUMNS = ("VirtualHost", "Client", "User", "Timestamp", "Method", "Path", "Status", "Bytes", "Referrer", "Agent")


class AccessLog(Declared):
    """The log that a feed counts: where its lines are, and what they count for which service."""

    topic: TopicName  # contains the lines, one record per line
    counts: Literal["requests", "errors", "server-errors", "bytes"]  # errors: statuses from 400 on; server-errors: from 500 on
    service: Literal["host", "path"]  # whose request it was: the virtual host's, or the first segment of the path's
    # Regular expression that a service's whole name matches; null: every name of at most 100 letters, digits and _ . ~ -
    services: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    others: Name = "other"  # the service for which the other requests count
    lateness_seconds: Annotated[int, Field(ge=0, le=86_400)] = 10  # how late after its interval's end a line may come
    forget_after_days: Annotated[int, Field(ge=1, le=60)] = 7  # a service that is silent for so long has no more readings

    @field_validator("services")
    @classmethod
    def _is_pattern(cls, value: str | None) -> str | None:
        try:
            re.compile(value or "")
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from error
        return value

    @model_validator(mode="after")
    def _paths_are_named(self) -> Self:
        if self.service == "path" and self.services is None:
            raise ValueError("service: path needs services, e.g. 'shop|search|login': anybody may ask for any path")
        return self
