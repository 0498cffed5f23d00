"""Short texts signed with a secret key, so that processes with the key recognise their own.

A text is ``PREFIX.PAYLOAD.MAC``. The prefix says what the text is for, and is signed with it, so
that no text passes for one of another kind.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Iterable
from typing import Any


def seal(prefix: str, value: Any, key: bytes) -> str:
    """Return a text that holds a value, which must be plain JSON."""
    payload = _encoded(json.dumps(value, separators=(",", ":")).encode())
    return f"{prefix}.{payload}.{_mac(prefix, payload, key)}"


def open_sealed(prefix: str, text: str, keys: Iterable[bytes]) -> Any:
    """Return the value in a text; None unless its prefix and signature are valid."""
    found, _, rest = text.partition(".")
    payload, _, mac = rest.partition(".")
    if found != prefix or not text.isascii():
        return None
    if not any(hmac.compare_digest(_mac(prefix, payload, key), mac) for key in keys):
        return None
    try:
        return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, binascii.Error):
        return None


def _mac(prefix: str, payload: str, key: bytes) -> str:
    return _encoded(hmac.digest(key, f"{prefix}.{payload}".encode(), hashlib.sha256))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
