"""A pytest plugin: a file of certificates that clients of HTTP trust is read once for all tests of a worker.

Each client reads it again, and tests make thousands of clients: that was most of what the short tests of serving took.
"""

import ssl
from functools import cache
from pathlib import Path

_read = ssl.create_default_context


@cache
def _of(cafile: str, written: int) -> ssl.SSLContext:
    return _read(cafile=cafile)


def _context(
    purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH,
    *,
    cafile: str | None = None,
    capath: str | None = None,
    cadata: str | bytes | None = None,
) -> ssl.SSLContext:
    if cafile and (purpose, capath, cadata) == (ssl.Purpose.SERVER_AUTH, None, None):
        return _of(cafile, Path(cafile).stat().st_mtime_ns)
    return _read(purpose, cafile=cafile, capath=capath, cadata=cadata)


ssl.create_default_context = _context
