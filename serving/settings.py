"""What serving needs to know of its surroundings. The only reader of the environment in this room."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from contracts.alerts import ROUTES
from contracts.feeds import FEEDS
from contracts.kafka_credentials import PLAIN, CredentialsError, KafkaCredentials
from supervision.spark_history import HISTORY

PAGE = "SUNDIAL_API"
REQUIRED = {
    "SUNDIAL_KAFKA": "bootstrap.servers of the brokers, e.g. 127.0.0.1:9092",
    "SUNDIAL_REGISTRY": "the schema registry's Confluent API, e.g. http://127.0.0.1:8081/apis/ccompat/v7",
    "SUNDIAL_LAKE": "root path or URI of the Delta tables",
    "SUNDIAL_STREAMS": "folder of the streams' run-state",
}


class SettingsError(ValueError):
    """The environment lacks something or has a wrong value; the message lists all of it."""


@dataclass(frozen=True)
class Settings:
    kafka: str
    registry: str
    lake: str
    streams: str
    credentials: KafkaCredentials = PLAIN
    feeds: Path = FEEDS  # folder of the feeds' declarations
    routes: Path = ROUTES  # folder of the alerts' declarations
    page: str = ""  # address of the dashboard, for links in alerts
    spark_history: str = ""  # address of Spark's history server, as browsers find it
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost")  # names by which browsers may call; others are refused (DNS rebinding)
    lookback_seconds: int = 3600  # how far back the topics are read at start
    readings_per_service: int = 10_000  # more than a day of a feed that reports every ten seconds
    services_per_feed: int = 2000  # those of the baseline in force first
    anomalies_per_feed: int = 1000
    incidents_per_feed: int = 1000
    client_queue: int = 5000  # events that wait for one slow page before it must reload: more than readings that come at once

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> "Settings":
        """Settings from SUNDIAL_*. Raises SettingsError naming every variable at fault."""
        mistakes = [f"{name} is not set: {meaning}" for name, meaning in REQUIRED.items() if not env.get(name)]
        registry, history, page = (env.get(name, "") for name in ("SUNDIAL_REGISTRY", HISTORY, PAGE))
        for name, url in (("SUNDIAL_REGISTRY", registry), (HISTORY, history), (PAGE, page)):
            if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc):
                mistakes.append(f"{name} is no http(s) URL")
        try:
            credentials = KafkaCredentials.from_environment(env)
        except CredentialsError as error:
            mistakes.append(str(error))
        if mistakes:
            raise SettingsError("\n".join(mistakes))
        hosts = [host.strip() for host in env.get("SUNDIAL_API_HOSTS", "").split(",") if host.strip()]
        return cls(
            kafka=env["SUNDIAL_KAFKA"],
            registry=registry.rstrip("/"),
            lake=env["SUNDIAL_LAKE"].rstrip("/"),
            streams=env["SUNDIAL_STREAMS"],
            credentials=credentials,
            page=page.rstrip("/"),
            spark_history=history,
            hosts=tuple(hosts) or cls.hosts,
        )
