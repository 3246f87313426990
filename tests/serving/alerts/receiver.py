"""A receiver of messages on a real port, which answers as a test says, and remembers what came."""

import base64
import hashlib
import hmac
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict:
        return json.loads(self.body)

    @property
    def id(self) -> str:
        return self.headers["idempotency-key"]

    def signature(self, key: str) -> str:
        """What the standard says that the header must have."""
        signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + self.body
        digest = hmac.new(base64.b64decode(key.removeprefix("whsec_")), signed, hashlib.sha256).digest()
        return "v1," + base64.b64encode(digest).decode()


class Receiver:
    def __init__(self) -> None:
        self.came: list[Received] = []  # and was answered with 200
        self.answers: list[tuple[int, dict[str, str], bytes]] = []  # to what comes next; then 200
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook/s3cret-token"

    def once(self) -> list[Received]:
        """What a receiver has that knows a message by its id."""
        return list({each.id: each for each in self.came}.values())

    def notified(self) -> list[tuple[str, str]]:
        """(service, event), each message once, in the order in which they came first."""
        return [(each.json["incident"]["ServiceName"], each.json["event"]) for each in self.once()]

    def repeats(self) -> int:
        return sum(times - 1 for times in Counter(each.id for each in self.came).values())


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            body = self.rfile.read(length)
            if len(body) < length:
                return  # the sender was killed; a receiver does not take a part of a message
            code, headers, said = receiver.answers.pop(0) if receiver.answers else (200, {}, b"ok")
            if code == 200:
                receiver.came.append(Received(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(code)
            for name, value in {"content-length": str(len(said)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
