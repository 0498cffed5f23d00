"""SSH keys: fingerprints of public ones, and new pairs."""

import base64
import binascii
import hashlib

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from armillary.http.validation import invalid

RSA_BITS = 2048


def fingerprint(public_key: str) -> str:
    """Return the MD5 fingerprint of a key in OpenSSH's form. Raises Invalid for anything else."""
    kind, raw = _parsed(public_key)
    length = int.from_bytes(raw[:4])
    if not kind or raw[4 : 4 + length] != kind.encode():  # the blob begins with its type
        rule = "It must be a public SSH key, such as 'ssh-ed25519 AAAA... comment'"
        raise invalid("keypair.public_key", public_key, rule)
    digest = hashlib.md5(raw, usedforsecurity=False).hexdigest()
    return ":".join(digest[place : place + 2] for place in range(0, len(digest), 2))


def new_pair() -> tuple[str, str]:
    """Return a new private key in PEM, and its public key in OpenSSH's form."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    return private.decode(), f"{public.decode()} Generated-by-Armillary"


def _parsed(public_key: str) -> tuple[str, bytes]:
    """Return type and blob of a public key; both are empty if it has no such form."""
    try:
        kind, encoded, *_ = public_key.split(None, 2)
        return kind, base64.b64decode(encoded, validate=True)
    except (ValueError, binascii.Error):
        return "", b""
