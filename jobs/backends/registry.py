"""Schema-registry access for jobs: the writers' schemas of a subject, and the id of a declared schema."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2  # what confluent-kafka's registry client speaks; its errors are raised when the registry does not answer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.formats.wire import Writers

TIMEOUT, RETRIES = 10, 3  # seconds for an answer; further tries


class Silent(JobError):
    """The registry does not answer."""


class Registry:
    """The schemas that the registry knows, by subject."""

    def __init__(self, platform: Platform, timeout: float = TIMEOUT, retries: int = RETRIES):
        self._url = platform.registry
        # The client's own default is to wait for ever.
        self._client = SchemaRegistryClient({"url": platform.registry, "timeout": timeout, "max.retries": retries})

    def writers(self, subject: str, refused: frozenset[int] | None = frozenset()) -> Writers:
        """Every schema registered under a subject; `refused` as in Writers."""
        with self._asked(subject):
            found = [self._client.get_version(subject, version) for version in self._client.get_versions(subject)]
        return Writers(subject, tuple(sorted((each.schema_id, each.schema.schema_str) for each in found)), refused)

    def id_of(self, subject: str, schema: dict) -> int:
        """What the registry calls a schema of a subject, which need not be its newest. Raises JobError where it has none."""
        for schema_id, text in self.writers(subject).schemas:
            if json.loads(text) == schema:
                return schema_id
        raise JobError(
            f"registry {self._url}, subject {subject}: lacks what is declared; `sundial schemas register` registers it"
        )

    @contextmanager
    def _asked(self, subject: str) -> Iterator[None]:
        try:
            yield
        except (SchemaRegistryError, httpx2.HTTPError) as error:
            kind = Silent if isinstance(error, httpx2.HTTPError) else JobError
            raise kind(f"registry {self._url}, subject {subject}: {error}; `sundial schemas register` registers it") from error
