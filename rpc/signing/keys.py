"""Ed25519 keys: creation, key files readable by their owner only, and short key ids."""

from __future__ import annotations

import base64
import binascii
import hashlib
import logging
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from armillary import exception

LOG = logging.getLogger(__name__)

_LOOK_SECONDS = 1.0
_ID_HEX_DIGITS = 16
_FILE_BYTES_MAX = 4096
"""Maximum size of a key file."""
_RAW = (serialization.Encoding.Raw, serialization.PublicFormat.Raw)


class PublicKey:
    """A key that verifies signatures."""

    def __init__(self, raw: bytes) -> None:
        """Use the 32 bytes of a key. Raises Invalid."""
        try:
            self._key = ed25519.Ed25519PublicKey.from_public_bytes(raw)
        except ValueError as error:
            raise exception.Invalid(
                reason=f"a public key must have 32 bytes, not {len(raw)}"
            ) from error
        self.raw = raw
        self.key_id = hashlib.sha256(raw).hexdigest()[:_ID_HEX_DIGITS]

    @classmethod
    def from_text(cls, text: str) -> PublicKey:
        """Parse a key written by :attr:`text`. Raises Invalid."""
        try:
            raw = base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise exception.Invalid(reason="a public key must be base64 of 32 bytes") from error
        return cls(raw)

    @property
    def text(self) -> str:
        """The key as base64, the form used in trust lists and configuration."""
        return base64.b64encode(self.raw).decode()

    def verifies(self, signature: bytes, signed: bytes) -> bool:
        """Return whether the owner of this key signed these bytes."""
        try:
            self._key.verify(signature, signed)
        except InvalidSignature:
            return False
        return True


class SigningKey:
    """A private key; it never leaves its file."""

    def __init__(self, key: ed25519.Ed25519PrivateKey) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes(*_RAW))

    @property
    def key_id(self) -> str:
        return self.public.key_id

    def sign(self, signed: bytes) -> bytes:
        """Return the signature, 64 bytes."""
        return self._key.sign(signed)


class KeyFile:
    """A process's own key. A file that is replaced is read within a second, without a restart."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Load the key. Raises ConfigurationError as :func:`load`."""
        self._path = path
        self._clock = clock
        self._looked_at = clock()
        self._seen = stamp_of(path)
        self._key = load(path)

    def current(self) -> SigningKey:
        """Return the key; the former one while the file is missing or wrong."""
        now = self._clock()
        if now - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = now
            self._look()
        return self._key

    def _look(self) -> None:
        stamp = stamp_of(self._path)
        if stamp == self._seen:
            return
        self._seen = stamp
        try:
            self._key = load(self._path)
        except exception.ConfigurationError as error:
            LOG.warning("Still signing with the key %s: %s", self._key.key_id, error.message)
        else:
            LOG.info("Messages are signed with the key %s from now on", self._key.key_id)


def stamp_of(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file is written or replaced; None while there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


def create(path: Path) -> SigningKey:
    """Create a key and its file, which only this user may read.

    Raises Exists if the file exists, ConfigurationError if it cannot be written.
    """
    key = ed25519.Ed25519PrivateKey.generate()
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
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
    """Load a key file. Raises ConfigurationError, also if other users may read it."""
    try:
        with path.open("rb") as file:
            _refuse_open_file(path, os.fstat(file.fileno()))
            text = file.read(_FILE_BYTES_MAX)
    except OSError as error:
        raise exception.ConfigurationError(
            reason=f"the key file {path} cannot be read: {error.strerror}; create one with "
            "armillary-manage key create"
        ) from error
    try:
        key = serialization.load_pem_private_key(text, password=None)
    except (ValueError, TypeError) as error:
        raise exception.ConfigurationError(
            reason=f"the key file {path} does not contain a PEM private key without a password"
        ) from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise exception.ConfigurationError(reason=f"the key in {path} is not an Ed25519 key")
    return SigningKey(key)


def _refuse_open_file(path: Path, found: os.stat_result) -> None:
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise exception.ConfigurationError(
            reason=f"the key file {path} is accessible to other users (mode "
            f"{stat.S_IMODE(found.st_mode):04o}); set its mode to 0600"
        )
