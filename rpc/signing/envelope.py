"""Envelope of a signed message: the text as signed, the signature, and the key id.

The text is transmitted as a string, so that both sides sign and verify the same bytes without a
canonical form. It contains the destination, the sender's context, the method with its arguments,
a nonce and the time. A reply contains the nonce of its request instead of a destination.
"""

import base64
import binascii
import dataclasses
import json
import re
import secrets
from collections.abc import Mapping
from typing import Any

from oslo_serialization import jsonutils

from rpc.signing.keys import PublicKey, SigningKey
from rpc.signing.nonces import NONCE_BYTES
from rpc.wire.value_bounds import VALUES_MAX, has_too_many_values

_TEXT, _SIGNATURE, _KEY = "text", "signature", "key"
_KEY_ID = re.compile("[0-9a-f]{16}").fullmatch


REPEATED = "repeated"
"""Reason of a fanout's last messages, which a stream gives to each new consumer again."""

UNKNOWN_KEY = "unknown_key"
"""Reason of what a key signed that no trust list has."""

Contents = dict[str, Any]
"""What was signed, as JSON: its sender is known, its fields are checked where they are read."""


class Refused(Exception):
    """A message was refused; ``reason`` is one of a few words, used as a metric label."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason


@dataclasses.dataclass(frozen=True)
class SignedMessage:
    """A signed message before verification."""

    text: str
    signature: bytes
    key_id: str

    def is_by(self, key: PublicKey) -> bool:
        """Return whether this key signed it."""
        return key.verifies(self.signature, self.text.encode())

    def contents(self) -> Contents:
        """Return the signed contents. Raises Refused if they are malformed."""
        if has_too_many_values(self.text):
            raise Refused("malformed", f"it has more than {VALUES_MAX} values")
        try:
            found = json.loads(self.text)
        except (ValueError, RecursionError) as error:
            raise Refused("malformed") from error
        if not isinstance(found, dict):
            raise Refused("malformed")
        return found


def new_nonce() -> str:
    """Return a unique random number, as hexadecimal digits."""
    return secrets.token_hex(NONCE_BYTES)


def sign(contents: Mapping[str, Any], key: SigningKey) -> dict[str, str]:
    """Return the signed message with these contents."""
    text = jsonutils.dumps(contents)
    signature = base64.b64encode(key.sign(text.encode())).decode()
    return {_TEXT: text, _SIGNATURE: signature, _KEY: key.key_id}


def claimed_key_id(message: Any) -> str | None:
    """Return the id of the key that a message names, which proves nothing; None without."""
    key_id = message.get(_KEY) if isinstance(message, Mapping) else None
    return key_id if isinstance(key_id, str) and _KEY_ID(key_id) else None


def read(message: Any) -> SignedMessage | None:
    """Parse a signed message; None for an unsigned one. Raises Refused if it is malformed."""
    if not isinstance(message, Mapping) or _TEXT not in message:
        return None
    text, key_id = message[_TEXT], message.get(_KEY)
    if not isinstance(text, str) or not isinstance(key_id, str) or not _KEY_ID(key_id):
        raise Refused("malformed")
    try:
        text.encode()  # fails for lone surrogates: JSON can contain them, no key can sign them
        signature = base64.b64decode(message.get(_SIGNATURE, ""), validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise Refused("malformed") from error
    return SignedMessage(text, signature, key_id)
