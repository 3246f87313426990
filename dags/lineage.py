"""The topics and tables that tasks read and write. Airflow shows them as assets, and OpenLineage events name them.

Airflow's OpenLineage provider sends the events if OPENLINEAGE_URL, or a transport of its client, is set: see docs/lineage.md.
"""

import json
import os
from collections.abc import Iterable, MutableMapping
from urllib.parse import urlsplit

from airflow.sdk import Asset

from contracts.feeds import Feed

URL = "OPENLINEAGE_URL"
BEGIN = "OPENLINEAGE_"  # the prefix of all variables of OpenLineage
TRANSPORT = f"{BEGIN}_TRANSPORT__"  # the prefix of those that say how events are sent
WITHIN = 3  # seconds that the backend has to connect, and to answer
TABLES, TOPICS = "sundial://lake/", "sundial://kafka/"
SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}  # Spark's name of a storage scheme: OpenLineage's name


def table(name: str, folder: str) -> Asset:
    """The asset of a table. name: unique in Airflow. folder: the table's folder in the lake."""
    return Asset(name, uri=TABLES + folder)


def asset(name: str, feed: Feed) -> Asset:
    """The asset of a feed's table, for example history, baseline or incidents."""
    return table(f"{name}.{feed.name}", f"{name}/{feed.table}")


def topic(name: str) -> Asset:
    return Asset(f"topic.{name}", uri=TOPICS + name)


class Traced:
    """A mixin for operators: the events of a task name the topics and tables among its inlets and outlets."""

    task_id: str
    inlets: Iterable
    outlets: Iterable

    def get_openlineage_facets_on_start(self):
        """The provider calls this for each event of a task, in a separate process."""
        from airflow.providers.common.compat.openlineage.facet import Dataset
        from airflow.providers.openlineage.extractors import OperatorLineage

        def named(assets: Iterable) -> list[Dataset]:
            return [Dataset(*found) for asset in assets if (found := dataset(asset.uri, os.environ))]

        return OperatorLineage(inputs=named(self.inlets), outputs=named(self.outlets))


def dataset(uri: str, env: MutableMapping[str, str]) -> tuple[str, str] | None:
    """Namespace and name of a topic or table by OpenLineage's rules, so that events of other programs have the same ones. None
    for any other asset, and if SUNDIAL_KAFKA (for a topic) or SUNDIAL_LAKE (for a table) is not set."""
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
    """Sets the client's variables: one try, with short timeouts. By default it tries six times, and the task waits."""
    if not env.get(URL) or any(name.startswith(TRANSPORT) for name in env):
        return  # lineage is off, or a person has chosen a transport
    settings = {"TYPE": "http", "URL": env[URL], "TIMEOUT": str(WITHIN), "RETRY": json.dumps({"total": 0})}
    if endpoint := env.get("OPENLINEAGE_ENDPOINT"):
        settings["ENDPOINT"] = endpoint
    if key := env.get("OPENLINEAGE_API_KEY"):
        settings["AUTH"] = json.dumps({"type": "api_key", "apiKey": key})
    env.update({TRANSPORT + name: value for name, value in settings.items()})


send_once(os.environ)
