"""Token file: tokens, users and projects, read from YAML and reloaded when the file changes."""

import hashlib
import hmac
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from jsonschema.exceptions import best_match

from armillary import exception, times
from armillary.files.file_state import FileState, file_state
from armillary.identity import passwords
from armillary.identity.accounts import PROJECTS_SCHEMA, USERS_SCHEMA, Accounts, make_accounts

LOG = logging.getLogger(__name__)

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
        },
        "users": USERS_SCHEMA,
        "projects": PROJECTS_SCHEMA,
    },
    "minProperties": 1,
    "additionalProperties": False,
}
_VALIDATOR = jsonschema.Draft202012Validator(_SCHEMA)


@dataclass(frozen=True, slots=True)
class Identity:
    """The user, project and roles of a request, by ids. Without a project there are no roles."""

    user: str
    project: str | None
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileToken:
    """A token of the file."""

    sha256: bytes
    identity: Identity
    expires: datetime | None

    @property
    def mark(self) -> str:
        """What an issued token holds that was got with this one; it reveals nothing of it."""
        return f"token:{passwords.fingerprint(self.sha256.hex())}"


@dataclass(frozen=True, slots=True)
class _Content:
    tokens: list[FileToken]
    accounts: Accounts


_NOTHING = _Content([], Accounts([], []))


class TokenFile:
    """Lookup of tokens and accounts; thread-safe.

    Raises ``ConfigurationError`` when the file is invalid at startup. If it becomes invalid later,
    the old content stays in force; if it is gone or unreadable, all tokens and users are rejected.
    Both are logged once.
    """

    def __init__(
        self, path: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._content = _NOTHING
        self._seen: FileState | None = None
        try:
            self._seen = file_state(self._path)
            self._content = self._read()
        except OSError as error:
            raise exception.ConfigurationError(
                reason=f"[api] token_file: {path} cannot be read: {error.strerror}"
            ) from error

    def find(self, token: str) -> FileToken | None:
        """Return a token's entry, or None if it is unknown or expired.

        Every known token is compared in constant time, so that timing reveals nothing.
        """
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        found: FileToken | None = None
        for known in self._current().tokens:
            if hmac.compare_digest(known.sha256, digest):
                found = known
        return self._unexpired(found)

    def find_marked(self, mark: str) -> FileToken | None:
        """Return the entry with this mark, or None if it is unknown or expired."""
        tokens = self._current().tokens
        return self._unexpired(next((each for each in tokens if each.mark == mark), None))

    def _unexpired(self, found: FileToken | None) -> FileToken | None:
        if found is None or (found.expires is not None and found.expires <= self._clock()):
            return None
        return found

    def list_tokens(self) -> list[FileToken]:
        """Return all tokens, expired ones too."""
        return self._current().tokens

    def accounts(self) -> Accounts:
        """Return the users and projects, also those that only tokens name."""
        return self._current().accounts

    def _current(self) -> _Content:
        with self._lock:
            try:
                state = file_state(self._path)
                if state != self._seen:
                    self._seen = state
                    self._content = self._read()
                    count = len(self._content.tokens)
                    LOG.info("Reloaded %s, number of tokens: %d", self._path, count)
            except OSError as error:
                if self._content is not _NOTHING or self._seen:
                    LOG.error("All tokens are rejected, %s is gone: %s", self._path, error)  # noqa: TRY400
                self._seen, self._content = None, _NOTHING
            except exception.ConfigurationError as error:
                LOG.error("The old tokens stay in force: %s", error)  # noqa: TRY400
            return self._content

    def _read(self) -> _Content:
        try:
            content = yaml.safe_load(self._path.read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise _mistake(self._path, "the file", " ".join(str(error).split())) from error
        broken = best_match(_VALIDATOR.iter_errors(content))
        if broken is not None:
            raise _mistake(self._path, broken.json_path, broken.message)
        tokens = [self._token(*entry) for entry in enumerate(content.get("tokens", ()))]
        bearers = [(each.user, each.project, each.roles) for each in (t.identity for t in tokens)]
        try:
            return _Content(tokens, make_accounts(content, bearers))
        except ValueError as error:
            raise _mistake(self._path, "$", str(error)) from error

    def _token(self, index: int, entry: dict[str, Any]) -> FileToken:
        identity = Identity(entry["user"], entry["project"], tuple(entry["roles"]))
        try:
            expires = _expiry(entry.get("expires"))
        except ValueError as error:
            raise _mistake(self._path, f"tokens[{index}].expires", str(error)) from error
        return FileToken(bytes.fromhex(entry["sha256"]), identity, expires)


def _expiry(value: Any) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        raise ValueError(f"{value!r} is not a time such as 2030-01-01T00:00:00Z")  # noqa: TRY004
    return times.with_zone(value)


def _mistake(path: Path, where: str, why: str) -> exception.ConfigurationError:
    return exception.ConfigurationError(reason=f"[api] token_file: {path}: {where}: {why}")
