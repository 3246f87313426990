"""How a webhook proves where a message comes from: the headers of Standard Webhooks (standardwebhooks.com), for which there are
libraries in many languages.

`webhook-signature` is `v1,` and the base64 of HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>`. The key is what the
base64 text in the variable says; the text may begin with `whsec_`.
"""

import base64
import binascii
import hashlib
import hmac

PREFIX = "whsec_"
SHORTEST, LONGEST = 24, 64  # bytes of a key


class BadKey(ValueError):
    """The text is no key; the message does not show it."""


def key_of(text: str) -> bytes:
    """Raises BadKey if the text is no base64 of 24 to 64 bytes."""
    try:
        key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if not SHORTEST <= len(key) <= LONGEST:
        raise BadKey(f"no base64 of {SHORTEST} to {LONGEST} bytes; `openssl rand -base64 32` makes one")
    return key


def headers(key: bytes, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """timestamp: seconds since the epoch, of this attempt to send."""
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    signature = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    return {"webhook-id": message_id, "webhook-timestamp": str(timestamp), "webhook-signature": f"v1,{signature}"}
