"""One message, sealed: the very text that was signed, its signature, and whose key it was.

The text itself travels, as a string, so that both sides sign and verify the same bytes without a
canonical form. Inside are the destination, the sender's context, the method with its arguments,
a nonce and the time; a reply names the nonce of its request instead of a destination.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import secrets
from collections.abc import Mapping
from typing import Any

from oslo_serialization import jsonutils

from rpc.signing.keys import PublicKey, SigningKey
from rpc.signing.nonces import NONCE_BYTES

_TEXT, _SIGNATURE, _KEY = "sealed", "signature", "key"


class Refused(Exception):
    """A message is not believed; ``reason`` is one of a few words, for the counter."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason


@dataclasses.dataclass(frozen=True)
class Sealed:
    """What a sealed message says before anything of it is believed."""

    text: str
    signature: bytes
    key_id: str

    def is_by(self, key: PublicKey) -> bool:
        """Return whether the holder of this key sealed it."""
        return key.verifies(self.signature, self.text.encode())

    def contents(self) -> dict[str, Any]:
        """Return what was sealed. Raises Refused when it is no message."""
        try:
            found = json.loads(self.text)
        except (ValueError, RecursionError) as error:
            raise Refused("malformed") from error
        if not isinstance(found, dict):
            raise Refused("malformed")
        return found


def new_nonce() -> str:
    """Return a number that nobody used before, as hexadecimal digits."""
    return secrets.token_hex(NONCE_BYTES)


def seal(contents: Mapping[str, Any], key: SigningKey) -> dict[str, str]:
    """Return the message to send in the place of these contents."""
    text = jsonutils.dumps(contents)
    signature = base64.b64encode(key.sign(text.encode())).decode()
    return {_TEXT: text, _SIGNATURE: signature, _KEY: key.key_id}


def read(message: Any) -> Sealed | None:
    """Return a sealed message, None for one that isn't. Raises Refused when it is half of one."""
    if not isinstance(message, Mapping) or _TEXT not in message:
        return None
    text, key_id = message[_TEXT], message.get(_KEY)
    if not isinstance(text, str) or not isinstance(key_id, str):
        raise Refused("malformed")
    try:
        signature = base64.b64decode(message.get(_SIGNATURE, ""), validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise Refused("malformed") from error
    return Sealed(text, signature, key_id)
