"""Schema-registry access for jobs: the writers' schemas of a subject, and the id of a declared schema."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import httpx2  # what confluent-kafka's registry client speaks; its errors are raised when the registry does not answer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.formats.wire import Writers

MOST_REFUSED = 16  # unknown schema ids that are looked up one by one; with more the topic carries garbage and all are refused


class Registry:
    """The schemas that the registry knows, by subject."""

    def __init__(self, platform: Platform):
        self._url = platform.registry
        self._client = SchemaRegistryClient({"url": platform.registry})

    def writers(self, subject: str, refused: frozenset[int] | None = frozenset()) -> Writers:
        """Every schema registered under a subject; `refused` as in Writers."""
        with self._asked(subject):
            found = [self._client.get_version(subject, version) for version in self._client.get_versions(subject)]
        return Writers(subject, tuple(sorted((each.schema_id, each.schema.schema_str) for each in found)), refused)

    def renewed(self, writers: Writers) -> Writers:
        """The same if nothing is new. A registry that doesn't answer is no reason to stop what runs: then it's the same, too."""
        try:
            found = self.writers(writers.subject)
        except JobError as error:
            print(f"WARN {error}", flush=True)
            return writers
        return writers if found.schemas == writers.schemas else found

    def learned(self, writers: Writers, schema_id: int) -> Writers:
        """After an id was met that is not among the writers': it is known or refused from then on."""
        found = self.writers(writers.subject)
        known = any(schema_id == each for each, _ in found.schemas)
        print(f"schema id {schema_id} of {writers.subject} is {'new' if known else 'not in the registry'}", flush=True)
        refused = (writers.refused or frozenset()) | (frozenset() if known else {schema_id})
        return replace(found, refused=None if len(refused) > MOST_REFUSED else refused)

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
            raise JobError(
                f"registry {self._url}, subject {subject}: {error}; `sundial schemas register` registers it"
            ) from error
