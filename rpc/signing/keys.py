"""Ed25519 keys: made, kept in a file that only its owner may read, named by a short id."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import stat
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from armillary import exception

_ID_HEX_DIGITS = 16
_FILE_BYTES_MAX = 4096
_RAW = (serialization.Encoding.Raw, serialization.PublicFormat.Raw)


class PublicKey:
    """What a signature is checked with."""

    def __init__(self, raw: bytes) -> None:
        """Take the 32 bytes of the key. Raises Invalid."""
        try:
            self._key = ed25519.Ed25519PublicKey.from_public_bytes(raw)
        except ValueError as error:
            raise exception.Invalid(
                reason=f"a public key has 32 bytes, this one has {len(raw)}"
            ) from error
        self.raw = raw
        self.key_id = hashlib.sha256(raw).hexdigest()[:_ID_HEX_DIGITS]

    @classmethod
    def from_text(cls, text: str) -> PublicKey:
        """Return the key that :attr:`text` wrote. Raises Invalid."""
        try:
            raw = base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise exception.Invalid(reason="a public key is base64 of 32 bytes") from error
        return cls(raw)

    @property
    def text(self) -> str:
        """The key as base64, as the trust list and the configuration have it."""
        return base64.b64encode(self.raw).decode()

    def verifies(self, signature: bytes, signed: bytes) -> bool:
        """Return whether the owner of this key signed these bytes."""
        try:
            self._key.verify(signature, signed)
        except InvalidSignature:
            return False
        return True


class SigningKey:
    """What a process signs with; it never leaves its file."""

    def __init__(self, key: ed25519.Ed25519PrivateKey) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes(*_RAW))

    @property
    def key_id(self) -> str:
        return self.public.key_id

    def sign(self, signed: bytes) -> bytes:
        """Return the signature, 64 bytes."""
        return self._key.sign(signed)


def create(path: Path) -> SigningKey:
    """Make a key and its file, which only this user may read.

    Raises Exists when there is a file already, ConfigurationError when it cannot be written.
    """
    key = ed25519.Ed25519PrivateKey.generate()
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise exception.Exists(what=f"The key file {path}") from error
    except OSError as error:
        raise exception.ConfigurationError(
            reason=f"the key file {path} cannot be written: {error.strerror}"
        ) from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return SigningKey(key)


def load(path: Path) -> SigningKey:
    """Return the key of a file. Raises ConfigurationError, also when others may read it."""
    try:
        with path.open("rb") as file:
            _refuse_open_file(path, os.fstat(file.fileno()))
            text = file.read(_FILE_BYTES_MAX)
    except OSError as error:
        raise exception.ConfigurationError(
            reason=f"the key file {path} cannot be read: {error.strerror}; make one with "
            "armillary-manage key create"
        ) from error
    try:
        key = serialization.load_pem_private_key(text, password=None)
    except (ValueError, TypeError) as error:
        raise exception.ConfigurationError(
            reason=f"the key file {path} holds no private key in PEM without a password"
        ) from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise exception.ConfigurationError(reason=f"the key in {path} is not an Ed25519 key")
    return SigningKey(key)


def _refuse_open_file(path: Path, found: os.stat_result) -> None:
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise exception.ConfigurationError(
            reason=f"others than its owner may use the key file {path} (mode "
            f"{stat.S_IMODE(found.st_mode):04o}); set it to 0600"
        )
