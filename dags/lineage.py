"""What tasks read and write: Airflow shows it as assets, and OpenLineage's events name it if there is a backend for them.

Airflow's OpenLineage provider sends the events. It is on if OPENLINEAGE_URL is set: see docs/lineage.md.
"""

import json
import os
from collections.abc import Iterable, MutableMapping
from urllib.parse import urlsplit

from airflow.sdk import Asset

from contracts.feeds import Feed

URL = "OPENLINEAGE_URL"
BEGIN = "OPENLINEAGE_"  # of all its variables
TRANSPORT = f"{BEGIN}_TRANSPORT__"  # of those that say how events are sent
WITHIN = 3  # seconds that the backend has to connect, and to answer
TABLES, TOPICS = "sundial://lake/", "sundial://kafka/"
SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}  # the names of one kind of storage: Spark's, and OpenLineage's


def table(name: str, folder: str) -> Asset:
    """A table of the lake by its folder; the name is unique in Airflow."""
    return Asset(name, uri=TABLES + folder)


def asset(name: str, feed: Feed) -> Asset:
    """A table of a feed: history, baseline_candidate, baseline."""
    return table(f"{name}.{feed.name}", f"{name}/{feed.table}")


def topic(name: str) -> Asset:
    return Asset(f"topic.{name}", uri=TOPICS + name)


class Traced:
    """An operator whose events name the tables and topics among its inlets and outlets."""

    task_id: str
    inlets: Iterable
    outlets: Iterable

    def get_openlineage_facets_on_start(self):
        """Called by the provider for each event of a task, in a process of its own."""
        from airflow.providers.common.compat.openlineage.facet import Dataset
        from airflow.providers.openlineage.extractors import OperatorLineage

        def named(assets: Iterable) -> list[Dataset]:
            return [Dataset(*found) for asset in assets if (found := dataset(asset.uri, os.environ))]

        return OperatorLineage(inputs=named(self.inlets), outputs=named(self.outlets))


def dataset(uri: str, env: MutableMapping[str, str]) -> tuple[str, str] | None:
    """Namespace and name of a table or topic, by OpenLineage's naming, so that events of other programs name the same. None for
    another asset, and where the process does not know the platform."""
    if uri.startswith(TOPICS) and env.get("SUNDIAL_KAFKA"):
        return f"kafka://{env['SUNDIAL_KAFKA'].split(',')[0].strip()}", uri.removeprefix(TOPICS)
    if uri.startswith(TABLES) and env.get("SUNDIAL_LAKE"):
        return _stored(f"{env['SUNDIAL_LAKE'].rstrip('/')}/{uri.removeprefix(TABLES)}")
    return None


def _stored(path: str) -> tuple[str, str]:
    at = urlsplit(path)
    if at.scheme in ("", "file"):
        return "file", os.path.abspath(at.path) if not at.scheme else at.path  # noqa: PTH100 (symbolic links stay)
    scheme = SAME.get(at.scheme, at.scheme)
    return f"{scheme}://{at.netloc}", at.path if scheme == "hdfs" else at.path.lstrip("/")


def send_once(env: MutableMapping[str, str]) -> None:
    """Settings for the provider's client. By default it tries six times, with five seconds each, while the task waits."""
    if not env.get(URL) or any(name.startswith(TRANSPORT) for name in env):
        return  # off, or a person has said how
    settings = {"TYPE": "http", "URL": env[URL], "TIMEOUT": str(WITHIN), "RETRY": json.dumps({"total": 0})}
    if endpoint := env.get("OPENLINEAGE_ENDPOINT"):
        settings["ENDPOINT"] = endpoint
    if key := env.get("OPENLINEAGE_API_KEY"):
        settings["AUTH"] = json.dumps({"type": "api_key", "apiKey": key})
    env.update({TRANSPORT + name: value for name, value in settings.items()})


send_once(os.environ)
