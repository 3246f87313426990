"""A mail server on a real port, with TLS by a certificate of its own. It answers as a test says, and remembers what came."""

import datetime as dt
import ipaddress
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

Tls = Literal["none", "starttls", "at once"]


@dataclass
class MailServer:
    """greeting, recipients, end: answers at the begin, about a recipient (250 else), and to a whole letter."""

    certificate: Path
    tls: Tls
    port: int = 0
    greeting: int = 220
    recipients: dict[str, int] = field(default_factory=dict)
    end: int = 250
    letters: list[tuple[list[str], str]] = field(default_factory=list)  # (who got it, its text)
    secured: list[bool] = field(default_factory=list)  # whether each letter came by TLS
    said: list[str] = field(default_factory=list)

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        return context


class Session(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        server: MailServer = self.server.mail  # type: ignore[attr-defined]
        secure = server.tls == "at once"
        if secure:
            self.request = server.context().wrap_socket(self.request, server_side=True)
        lines, to = self.request.makefile("rb"), []
        self._say(f"{server.greeting} mail.test")
        while line := lines.readline().decode().strip():
            server.said.append(line)
            word = line.partition(" ")[0].upper()
            if word == "EHLO":
                offered = ["mail.test", "8BITMIME", *(["STARTTLS"] if server.tls == "starttls" and not secure else [])]
                for each in offered[:-1]:
                    self._say(f"250-{each}")
                self._say(f"250 {offered[-1]}")
            elif word == "STARTTLS":
                self._say("220 go on")
                self.request, secure = server.context().wrap_socket(self.request, server_side=True), True
                lines = self.request.makefile("rb")
            elif word == "RCPT":
                name = line.partition("<")[2].partition(">")[0]
                code = server.recipients.get(name, 250)
                to += [name] if code == 250 else []
                self._say(f"{code} {name}")
            elif word == "DATA":
                self._say("354 go on")
                text = b"".join(iter(lines.readline, b".\r\n")).decode()
                if server.end == 250:
                    server.letters.append((to, text))
                    server.secured.append(secure)
                to = []
                self._say(f"{server.end} done")
            elif word == "QUIT":
                self._say("221 bye")
                return
            else:
                self._say("250 ok")

    def _say(self, text: str) -> None:
        self.request.sendall(f"{text}\r\n".encode())


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def handle_error(self, *_) -> None:
        """A client that goes away, as one does that does not trust the certificate."""


@contextmanager
def receiving_mail(folder: Path, tls: Tls) -> Iterator[MailServer]:
    mail = MailServer(_certificate(folder), tls)
    with _Server(("127.0.0.1", 0), Session) as server:
        server.mail, mail.port = mail, server.server_address[1]  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield mail
        server.shutdown()
        thread.join(10)


def _certificate(folder: Path) -> Path:
    """Of `localhost`, signed by itself, with its key."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now, names = dt.datetime.now(dt.UTC), [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "mail.pem"
    file.write_bytes(private + made.public_bytes(pem))
    return file
