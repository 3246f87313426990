"""A message as each kind of target wants it: address, headers and body of one HTTP request."""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from contracts.alerts import Target
from serving.alerts import signature
from serving.alerts.messages import Message

PAGERDUTY, OPSGENIE = "https://events.pagerduty.com", "https://api.opsgenie.com"
PRIORITIES = {"critical": "P1", "error": "P2", "warning": "P3"}
FIRING = dt.timedelta(days=30)  # how long an alert fires in Alertmanager unless it is closed or sent again
SHOWN = 1024  # characters that PagerDuty takes of a summary
TITLE, TEXT = 130, 15_000  # characters that Opsgenie takes


@dataclass(frozen=True)
class Request:
    """A POST. Its address and headers hold secrets: they are not shown."""

    url: str = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    body: bytes


def request(message: Message, target: Target, env: Mapping[str, str], page: str, now: dt.datetime) -> Request:
    """For a target that is no e-mail. `page`: address of the dashboard, or empty. `now`: of this attempt."""
    url = env[target.url].rstrip("/") if target.url else ""
    key = env[target.key] if target.key else ""
    made = _SHAPES[target.kind](message, url, key, message.link(page) if page else None, now)
    common = {"content-type": "application/json", "idempotency-key": message.id, "user-agent": "sundial"}
    return Request(made.url, common | made.headers, made.body)


def _webhook(message: Message, url: str, key: str, link: str | None, now: dt.datetime) -> Request:
    body = _json(
        {
            "id": message.id,
            "event": message.event,
            "test": message.test,
            "route": message.route,
            "severity": message.severity,
            "feed": message.feed,
            "text": message.text,
            "at": _time(message.at),
            "link": link,
            "incident": message.incident,
        }
    )
    return Request(url, signature.headers(signature.key_of(key), message.id, int(now.timestamp()), body), body)


def _slack(message: Message, url: str, key: str, link: str | None, now: dt.datetime) -> Request:
    """Also for what takes the same form: Mattermost, Rocket.Chat."""
    text = message.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Request(url, {}, _json({"text": f"{text}\n<{link}>" if link else text}))


def _pagerduty(message: Message, url: str, key: str, link: str | None, now: dt.datetime) -> Request:
    """PagerDuty Events API v2. All messages about one incident have one dedup_key: it opens one alert, and resolves it."""
    event: dict[str, Any] = {"routing_key": key, "dedup_key": message.incident_key}
    event["event_action"] = "resolve" if message.event == "closed" else "trigger"
    if message.event != "closed":
        event["payload"] = {
            "summary": message.subject[:SHOWN],
            "source": message.incident["ServiceName"],
            "severity": message.severity,
            "timestamp": message.incident["Start"],
            "component": message.feed,
            "class": message.incident["Kind"],
            "custom_details": {"cause": message.incident["Cause"], "score": message.incident["Score"], "id": message.id},
        }
        event["client"] = "Sundial"
        event |= {"client_url": link} if link else {}
    return Request(f"{url or PAGERDUTY}/v2/enqueue", {}, _json(event))


def _opsgenie(message: Message, url: str, key: str, link: str | None, now: dt.datetime) -> Request:
    """Opsgenie Alert API. All messages about one incident have one alias: while the alert is open, a repeat is counted."""
    alerts, login = f"{url or OPSGENIE}/v2/alerts", {"authorization": f"GenieKey {key}"}
    if message.event == "closed":
        closing = _json({"source": "Sundial", "note": message.text})
        return Request(f"{alerts}/{message.incident_key}/close?identifierType=alias", login, closing)
    body: dict[str, Any] = {
        "message": message.subject[:TITLE],
        "alias": message.incident_key,
        "description": message.text[:TEXT],
        "priority": PRIORITIES[message.severity],
        "source": "Sundial",
        "entity": message.incident["ServiceName"][:512],
        "details": {"feed": message.feed, "kind": message.incident["Kind"], "id": message.id, **({"link": link} if link else {})},
    }
    return Request(alerts, login, _json(body))


def _alertmanager(message: Message, url: str, key: str, link: str | None, now: dt.datetime) -> Request:
    """Alertmanager's API v2. The labels are the same in all messages about one incident; a closed one has its end in the past."""
    closed = message.event == "closed"
    alert: dict[str, Any] = {
        "labels": {
            "alertname": "SundialIncident",
            "route": message.route,
            "severity": message.severity,
            "feed": message.feed,
            "service": message.incident["ServiceName"],
            "kind": message.incident["Kind"],
            "incident": message.incident["Id"],
        },
        "annotations": {"summary": message.subject, "description": message.text},
        "startsAt": message.incident["Start"],
        "endsAt": now.isoformat() if closed else (now + FIRING).isoformat(),
    }
    return Request(f"{url}/api/v2/alerts", {}, _json([alert | ({"generatorURL": link} if link else {})]))


_SHAPES: dict[str, Callable[[Message, str, str, str | None, dt.datetime], Request]] = {
    "webhook": _webhook,
    "slack": _slack,
    "pagerduty": _pagerduty,
    "opsgenie": _opsgenie,
    "alertmanager": _alertmanager,
}


def _json(value: Any) -> bytes:
    return orjson.dumps(value)


def _time(milliseconds: int) -> str:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
