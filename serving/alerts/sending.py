"""One attempt to deliver one message, and what came of it. Nothing here shows an address or a key: both may be secrets."""

import datetime as dt
import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from urllib.parse import urlsplit

import httpx

from contracts.alerts import Target
from serving.alerts import addresses, mail, secrets
from serving.alerts.messages import Message
from serving.alerts.outcome import Outcome
from serving.alerts.shapes import Request, request

PATIENCE = 10.0  # seconds for a connection, and for each part of the answer
LONGEST_ANSWER = 2000  # bytes that are read of it
SHOWN = 200  # characters of it that a reason quotes
AGAIN = (408, 425, 429)  # codes below 500 that may be better the next time
logging.getLogger("httpx").setLevel(logging.WARNING)  # it would log each address


def attempt(message: Message, target: Target, env: Mapping[str, str], page: str) -> Outcome:
    """Send a message to a target. Without the right variables, nothing is sent. Raises nothing."""
    if wrong := list(secrets.of_target(target, env)):
        return Outcome("again", "; ".join(wrong))
    try:
        if target.kind == "email":
            found = mail.send(message, target, env[target.url or ""], page)
        else:
            found = _post(request(message, target, env, page, dt.datetime.now(dt.UTC)), target.network)
    except addresses.Refused as error:
        found = Outcome("refused", str(error))
    except addresses.Unknown as error:
        found = Outcome("again", str(error))
    except Exception as error:  # whatever it is, its own words may name an address
        found = Outcome("again", f"not sent: {type(error).__name__}")
    return replace(found, reason=_redacted(found.reason, [env[name] for name in target.variables]))


def _post(made: Request, network: str) -> Outcome:
    """To the first checked address that takes the connection. Redirects are not followed: they could lead anywhere."""
    parts = urlsplit(made.url)
    host, port = parts.hostname or "", parts.port or {"https": 443}.get(parts.scheme, 80)
    *others, last = addresses.checked(host, port, network)
    for address in others:
        try:
            return _post_to(address, made, host)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            continue
    return _post_to(last, made, host)


def _post_to(address: str, made: Request, host: str) -> Outcome:
    """The name stays in the header Host, and is what the certificate must be for."""
    url = httpx.URL(made.url)
    headers = made.headers | {"host": url.netloc.decode()}
    with _client().stream(
        "POST", url.copy_with(host=address), headers=headers, content=made.body, extensions={"sni_hostname": host}
    ) as answer:
        said, deadline = b"", time.monotonic() + PATIENCE
        for chunk in answer.iter_raw(LONGEST_ANSWER):
            said += chunk
            if len(said) >= LONGEST_ANSWER or time.monotonic() > deadline:
                break
    return _outcome(answer, said[:LONGEST_ANSWER].decode(errors="replace"))


@cache
def _client() -> httpx.Client:
    """Each message has a connection of its own: one that is kept would have been checked for another name. No proxy, which would
    look up the name itself."""
    unkept = httpx.Limits(max_keepalive_connections=0)
    verify = httpx.create_ssl_context()
    return httpx.Client(timeout=PATIENCE, follow_redirects=False, trust_env=False, limits=unkept, verify=verify)


def _outcome(answer: httpx.Response, said: str) -> Outcome:
    code, reason = answer.status_code, f"HTTP {answer.status_code} {' '.join(said.split())}".strip()
    if answer.is_success:
        return Outcome("taken", reason)
    if answer.is_redirect or (answer.is_client_error and code not in AGAIN):
        return Outcome("refused", reason)
    after = answer.headers.get("retry-after", "")
    return Outcome("again", reason, min(float(after), 3600.0) if after.isascii() and after.isdigit() else 0.0)


def _redacted(text: str, values: list[str]) -> str:
    """Without the secret values, which a receiver may quote, and cut."""
    for secret in values:
        parts = urlsplit(secret)
        pieces = (secret, f"{parts.path}?{parts.query}", parts.path, parts.query, parts.password or "")
        for piece in pieces:
            if len(piece.strip("/?")) > 3:
                text = text.replace(piece, "…")
    return text[:SHOWN]
