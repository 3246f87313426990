"""A schema registry for tests that are about something else: it answers each GET with a given response."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

NOT_FOUND = {"error_code": 40401, "message": "Subject not found."}


@contextmanager
def answering(find: Callable[[str], dict | None]) -> Iterator[str]:
    """The URL of a registry that answers a path with what `find` has for it, and with 404 where that is nothing."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            found = find(self.path)
            body = json.dumps(found or NOT_FOUND).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
