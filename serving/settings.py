"""What serving needs to know of its surroundings. The only reader of the environment in this room."""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from contracts import audit
from contracts.alerts import ROUTES
from contracts.feeds import FEEDS
from contracts.kafka_credentials import PLAIN, CredentialsError, KafkaCredentials
from serving.access.provider_settings import ProviderSettings, ProviderSettingsError
from supervision.airflow_rest import AirflowRest
from supervision.spark_history import HISTORY

PAGE = "SUNDIAL_API"
AIRFLOW, AIRFLOW_USER, AIRFLOW_PASSWORD = "SUNDIAL_AIRFLOW", "SUNDIAL_AIRFLOW_USER", "SUNDIAL_AIRFLOW_PASSWORD"
AIRFLOW_URL = "SUNDIAL_AIRFLOW_URL"
USERS, SESSION = "SUNDIAL_USERS", "SUNDIAL_SESSION_SECRET"
SERVICES, METRICS_SERVICES = "SUNDIAL_SERVICES_PER_FEED", "SUNDIAL_METRICS_SERVICES_PER_FEED"
LEAST = {SERVICES: 1, METRICS_SERVICES: 0}  # of what is a whole number
MOST = 1_000_000
LEAST_SECRET = 32  # characters
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
    users: Path | None = None  # file that `sundial users` writes; None: nobody can log in with a token
    provider: ProviderSettings | None = None  # where people log in by OpenID Connect
    audit: Path | None = None  # file of who did what, beside the log
    airflow: str = ""  # address of Airflow, through which operators change things
    airflow_url: str = ""  # the same as browsers find it
    airflow_user: str = ""
    airflow_password: str = field(default="", repr=False)
    # Signs the cookies of logins.
    session_secret: str = field(default_factory=lambda: secrets.token_urlsafe(64), repr=False, compare=False)
    lookback_seconds: int = 3600  # how far back the topics are read at start
    readings_per_service: int = 10_000  # more than a day of a feed that reports every ten seconds
    services_per_feed: int = 2000  # those of the baseline in force first
    anomalies_per_feed: int = 1000
    incidents_per_feed: int = 1000
    metrics_services_per_feed: int = 200  # those of the baseline in force first; each costs Prometheus six series
    client_queue: int = 5000  # events that wait for one slow page before it must reload: more than readings that come at once

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> "Settings":
        """Settings from SUNDIAL_*. Raises SettingsError naming every variable at fault."""
        mistakes = [f"{name} is not set: {meaning}" for name, meaning in REQUIRED.items() if not env.get(name)]
        registry, history, page, airflow = (env.get(name, "") for name in ("SUNDIAL_REGISTRY", HISTORY, PAGE, AIRFLOW))
        addresses = {
            "SUNDIAL_REGISTRY": registry,
            HISTORY: history,
            PAGE: page,
            AIRFLOW: airflow,
            AIRFLOW_URL: env.get(AIRFLOW_URL),
        }
        for name, url in addresses.items():
            if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc):
                mistakes.append(f"{name} is no http(s) URL")
        lacking = [name for name in (AIRFLOW_USER, AIRFLOW_PASSWORD) if airflow and not env.get(name)]
        mistakes += [f"{name} is not set: {AIRFLOW} goes with it" for name in lacking]
        if 0 < len(env.get(SESSION, "")) < LEAST_SECRET:
            mistakes.append(f"{SESSION} has fewer than {LEAST_SECRET} characters; make one: openssl rand -hex 32")
        try:
            credentials = KafkaCredentials.from_environment(env)
        except CredentialsError as error:
            mistakes.append(str(error))
        try:
            provider = ProviderSettings.from_environment(env, page)
        except ProviderSettingsError as error:
            mistakes.append(str(error))
        counts = {name: env[name] for name in LEAST if env.get(name)}
        wrong = [name for name, text in counts.items() if not _is_count(text, LEAST[name])]
        mistakes += [f"{name} is no whole number from {LEAST[name]} to {MOST:,}" for name in wrong]
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
            airflow=airflow.rstrip("/"),
            airflow_url=(env.get(AIRFLOW_URL) or airflow).rstrip("/"),
            airflow_user=env.get(AIRFLOW_USER, ""),
            airflow_password=env.get(AIRFLOW_PASSWORD, ""),
            users=_path(env, USERS),
            provider=provider,
            audit=_path(env, audit.FILE),
            session_secret=env.get(SESSION) or secrets.token_urlsafe(64),
            services_per_feed=int(counts.get(SERVICES, cls.services_per_feed)),
            metrics_services_per_feed=int(counts.get(METRICS_SERVICES, cls.metrics_services_per_feed)),
        )

    def airflow_rest(self) -> AirflowRest | None:
        return AirflowRest(self.airflow, self.airflow_user, self.airflow_password) if self.airflow else None


def _is_count(text: str, least: int) -> bool:
    return text.isdecimal() and len(text) <= len(str(MOST)) and least <= int(text) <= MOST


def _path(env: Mapping[str, str], name: str) -> Path | None:
    return Path(env[name]) if env.get(name) else None
