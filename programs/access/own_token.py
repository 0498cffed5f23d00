"""Token of an API that a user starts alone: only that user's processes can read it.

``armillary up`` makes a new one at each start, so that an old one is worth nothing to a process
that takes over the port later. Commands of the same user find it by the address of the API.
"""

import hashlib
import logging
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from armillary.files import private_files

LOG = logging.getLogger(__name__)

TOKEN_FILE = "api-token"  # noqa: S105 - the name of the file
HASHES_FILE = "api-tokens.yaml"
ADDRESSES_DIRECTORY = "api-addresses"
ADMIN = "admin"
_BYTES = 32
_CHARACTERS_MAX = 255
EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound here
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def user_directory(environment: Mapping[str, str] = os.environ) -> Path:
    base = environment.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base, "armillary")


def make(state_dir: Path) -> Path:
    """Make a new administrator's token, which is also a password, in a state directory.

    Return the file with its hash, for ``[api] token_file``. Raises OSError.
    """
    import yaml  # not at module level: commands that only find a token start sooner

    from armillary.identity.passwords import hash_password

    token = secrets.token_urlsafe(_BYTES)
    digest = hashlib.sha256(token.encode()).hexdigest()
    entry = {"sha256": digest, "user": ADMIN, "project": ADMIN, "roles": [ADMIN]}
    # The same secret is the user's password, for clients that log in.
    user = {"name": ADMIN, "password": hash_password(token), "projects": {ADMIN: [ADMIN]}}
    private_files.write(
        state_dir / HASHES_FILE, yaml.safe_dump({"tokens": [entry], "users": [user]})
    )
    private_files.write(state_dir / TOKEN_FILE, f"{token}\n")
    return state_dir / HASHES_FILE


def read(state_dir: Path) -> str:
    """Return the token that ``make`` wrote. Raises OSError."""
    return (state_dir / TOKEN_FILE).read_text(encoding="ascii").strip()


@contextmanager
def published(state_dir: Path) -> Iterator[list[Path]]:
    """Withdraw the addresses at the end that ``publish`` adds to the list meanwhile."""
    links: list[Path] = []
    try:
        yield links
    finally:
        for link in links:
            with suppress(OSError):
                if link.readlink() == state_dir / TOKEN_FILE:  # no later start has replaced it
                    link.unlink()


def publish(state_dir: Path, host: str, port: int) -> Path:
    """Let this user's commands find the token by the API's address. Raises OSError."""
    directory = user_directory() / ADDRESSES_DIRECTORY
    private_files.make_directory(directory)
    link = directory / _name(EVERY_ADDRESS.get(host, host), port)
    draft = link.with_name(f".{link.name}.{secrets.token_hex(4)}")
    draft.symlink_to(state_dir / TOKEN_FILE)
    draft.replace(link)
    return link


def find(url: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the token of an API that this user has started at this address, None for others.

    A file that other users own or may read is ignored with a warning.
    """
    parts = urlsplit(url)
    try:
        name = _name(parts.hostname or "", parts.port or 0)
    except ValueError:
        return None
    path = user_directory(environment) / ADDRESSES_DIRECTORY / name
    try:
        with os.fdopen(os.open(path, _READ), encoding="ascii", errors="replace") as file:
            stat = os.fstat(file.fileno())
            if stat.st_uid == os.geteuid() and not stat.st_mode & 0o077:
                return file.read(_CHARACTERS_MAX).strip() or None
    except OSError:
        return None
    LOG.warning("%s is ignored: it must belong to this user and have the mode 0600", path)
    return None


def _name(host: str, port: int) -> str:
    """Return the file name of an address. Raises ValueError if the host cannot be in one."""
    if not host or "/" in host or "\0" in host:
        raise ValueError(host)
    return f"{host}:{port}"
