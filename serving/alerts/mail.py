"""A message as an e-mail, by SMTP within TLS. Its Message-ID is the message's id: the same each time it is sent."""

import datetime as dt
import smtplib
import socket
import ssl
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from email.utils import format_datetime
from urllib.parse import unquote, urlsplit

from contracts.alerts import Target
from serving.alerts import addresses
from serving.alerts.messages import Message
from serving.alerts.outcome import Outcome

PATIENCE = 20.0  # seconds for each answer of the server
PORTS = {"smtps": 465, "smtp": 587}


class _Pinned(smtplib.SMTP):
    """Connects to one address, whatever the name means by then. The name is what the certificate must be for."""

    address = ""

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return socket.create_connection((self.address, port), timeout)


class _PinnedTls(smtplib.SMTP_SSL, _Pinned):
    """The same, with TLS from the first byte on."""


def send(message: Message, target: Target, url: str, page: str) -> Outcome:
    """`url`: smtps://USER:PASSWORD@HOST:PORT, or smtp:// for STARTTLS; user and password may be missing. Raises addresses.Refused
    or Unknown, and OSError where no server answers."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
    try:
        with _connected(parts.scheme, host, port, addresses.checked(host, port, target.network)) as server:
            server.ehlo_or_helo_if_needed()
            if parts.scheme == "smtp" and (target.network != "loopback" or server.has_extn("starttls")):
                server.starttls(context=_context(target))
            if parts.username:
                server.login(unquote(parts.username), unquote(parts.password or ""))
            refused = server.send_message(letter(message, target, page), to_addrs=target.to)
    except smtplib.SMTPRecipientsRefused as error:
        refused = error.recipients
    except smtplib.SMTPResponseException as error:
        said = error.smtp_error.decode(errors="replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
        return Outcome("again" if error.smtp_code < 500 else "refused", f"SMTP {error.smtp_code} {said}")
    except smtplib.SMTPNotSupportedError as error:
        return Outcome("refused", f"SMTP: {error}")
    return _outcome(target.to, {name: code for name, (code, _) in refused.items()})


def _outcome(to: Sequence[str], refused: Mapping[str, int]) -> Outcome:
    """refused: the server's answers about those who have not got the letter."""
    later = tuple(name for name, code in refused.items() if code < 500)
    said = f"SMTP: refused for {', '.join(f'{name} ({code})' for name, code in refused.items())}"
    if later:
        return Outcome("again", said, left=later)
    if len(refused) == len(to):
        return Outcome("refused", said)
    return Outcome("taken", said if refused else "SMTP: taken")


def _context(target: Target) -> ssl.SSLContext:
    """A mail server of this machine often has a certificate that nobody has signed, and nobody is in between."""
    context = ssl.create_default_context()
    if target.network == "loopback":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _connected(scheme: str, host: str, port: int, found: Sequence[str]) -> smtplib.SMTP:
    """With the first address that takes the connection and greets."""
    *others, last = found
    for address in others:
        try:
            return _connected_to(scheme, host, port, address)
        except (OSError, smtplib.SMTPConnectError):
            continue
    return _connected_to(scheme, host, port, last)


def _connected_to(scheme: str, host: str, port: int, address: str) -> smtplib.SMTP:
    made: smtplib.SMTP
    made = _PinnedTls(timeout=PATIENCE, context=ssl.create_default_context()) if scheme == "smtps" else _Pinned(timeout=PATIENCE)
    made.address, made._host = address, host  # type: ignore[attr-defined]
    code, said = made.connect(host, port)
    if code != 220:
        made.close()
        raise smtplib.SMTPConnectError(code, said)
    return made


def letter(message: Message, target: Target, page: str) -> EmailMessage:
    """Mail programs show all letters about one incident as one thread."""
    made = EmailMessage()
    domain = (target.sender or "").rpartition("@")[2]
    made["Subject"] = " ".join(message.subject.split())
    made["From"], made["To"] = target.sender, ", ".join(target.to)
    made["Date"] = format_datetime(dt.datetime.fromtimestamp(message.at / 1000, dt.UTC))
    made["Message-ID"] = f"<{message.id}@{domain}>"
    made["References"] = f"<{message.incident_key}@{domain}>"
    made["Auto-Submitted"] = "auto-generated"
    made.set_content(f"{message.text}\n\n{message.link(page)}\n" if page else f"{message.text}\n")
    return made
