"""Token file: identities by token, read from YAML and reloaded when the file changes."""

import hashlib
import hmac
import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from armillary import exception

LOG = logging.getLogger(__name__)

IMPLIED_ROLES = {"admin": ("member", "reader"), "member": ("reader",)}

_TEXT = {"type": "string", "minLength": 1, "maxLength": 255}
_SCHEMA = {
    "type": "object",
    "properties": {
        "tokens": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "sha256": {"type": "string", "pattern": "^[0-9a-fA-F]{64}$"},
                    "user": _TEXT,
                    "project": _TEXT,
                    "roles": {"type": "array", "items": _TEXT, "minItems": 1},
                    "expires": {},
                },
                "required": ["sha256", "user", "project", "roles"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["tokens"],
    "additionalProperties": False,
}
_VALIDATOR = jsonschema.Draft202012Validator(_SCHEMA)


@dataclass(frozen=True, slots=True)
class Identity:
    """The user, project and roles of a request."""

    user: str
    project: str
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Token:
    sha256: bytes
    identity: Identity
    expires: datetime | None


def with_implied_roles(roles: Iterable[str]) -> list[str]:
    """Return the roles with the roles they imply: admin implies member, member implies reader."""
    roles = set(roles)
    implied = {other for role in roles for other in IMPLIED_ROLES.get(role, ())}
    return sorted(roles | implied)


class TokenFile:
    """Token lookup; thread-safe.

    Raises ``ConfigurationError`` when the file is invalid at startup. If it becomes invalid later,
    the old tokens stay in force; if it is gone or unreadable, all tokens are rejected. Both are
    logged once.
    """

    def __init__(
        self, path: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._tokens: list[_Token] = []
        self._seen: tuple[int, ...] | None = None
        try:
            self._seen = self._state()
            self._tokens = self._read()
        except OSError as error:
            raise exception.ConfigurationError(
                reason=f"[api] token_file: {path} cannot be read: {error.strerror}"
            ) from error

    def find_identity(self, token: str) -> Identity | None:
        """Return the identity of a token, or None if it is unknown or expired.

        Every known token is compared in constant time, so that timing reveals nothing.
        """
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        found: _Token | None = None
        for known in self._current():
            if hmac.compare_digest(known.sha256, digest):
                found = known
        if found is None or (found.expires is not None and found.expires <= self._clock()):
            return None
        return found.identity

    def _current(self) -> list[_Token]:
        with self._lock:
            try:
                state = self._state()
                if state != self._seen:
                    self._seen = state
                    self._tokens = self._read()
                    LOG.info("Reloaded %s, number of tokens: %d", self._path, len(self._tokens))
            except OSError as error:
                if self._tokens or self._seen:
                    LOG.error("All tokens are rejected, %s is gone: %s", self._path, error)  # noqa: TRY400
                self._seen, self._tokens = None, []
            except exception.ConfigurationError as error:
                LOG.error("The old tokens stay in force: %s", error)  # noqa: TRY400
            return self._tokens

    def _state(self) -> tuple[int, ...]:
        stat = self._path.stat()
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _read(self) -> list[_Token]:
        try:
            content = yaml.safe_load(self._path.read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise _mistake(self._path, "the file", " ".join(str(error).split())) from error
        broken = next(_VALIDATOR.iter_errors(content), None)
        if broken is not None:
            raise _mistake(self._path, broken.json_path, broken.message)
        return [self._token(index, entry) for index, entry in enumerate(content["tokens"])]

    def _token(self, index: int, entry: dict[str, Any]) -> _Token:
        identity = Identity(entry["user"], entry["project"], tuple(entry["roles"]))
        try:
            expires = _expiry(entry.get("expires"))
        except ValueError as error:
            raise _mistake(self._path, f"tokens[{index}].expires", str(error)) from error
        return _Token(bytes.fromhex(entry["sha256"]), identity, expires)


def _expiry(value: Any) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        raise ValueError(f"{value!r} is not a time such as 2030-01-01T00:00:00Z")  # noqa: TRY004
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def _mistake(path: Path, where: str, why: str) -> exception.ConfigurationError:
    return exception.ConfigurationError(reason=f"[api] token_file: {path}: {where}: {why}")
