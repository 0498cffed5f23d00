"""One-time links that begin a session: a code, and a sealed token in a file until it is used."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from oslo_config import cfg

from api.console.sessions import Seal
from armillary import exception
from armillary.files import private_files

LINK_PATH = "/ui/login"
PLAIN_PATH = "/ui/"
"""Where the page is for a caller who needs no login."""
LINKS_OF_USER_MAX = 20
"""Links of a user that wait to be opened; each is forgotten when it has expired."""
CODE_CHARACTERS_MAX = 100
_CODE_BYTES = 24


class ConsoleLinks:
    """Makes and redeems links; thread-safe, and safe between processes.

    The directory holds one file for each link, named by hashes of its user and of its code, so that
    a reader of the names cannot open one. Who removes the file has redeemed it.
    """

    def __init__(
        self,
        seal: Seal,
        directory: Path,
        *,
        lifetime_seconds: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._seal = seal
        self._directory = directory
        self._lifetime_seconds = lifetime_seconds
        self._clock = clock

    @classmethod
    def from_conf(
        cls, conf: cfg.ConfigOpts, clock: Callable[[], float] = time.time
    ) -> ConsoleLinks:
        """Return the links of ``[console]``."""
        return cls(
            Seal(Path(conf.console.session_key_file)),
            Path(conf.console.state_dir, "links"),
            lifetime_seconds=conf.console.link_lifetime_seconds,
            clock=clock,
        )

    def make(self, token: str, user_id: str) -> tuple[str, int]:
        """Return the path of a new link of a user, and when it expires, in seconds since 1970.

        The code is in the fragment, which browsers send to no server. Raises OSError, and
        ``Conflict`` while too many links of the user wait.
        """
        private_files.make_directory(self._directory)
        owner = _digest(user_id)
        self._require_room(owner)
        code = secrets.token_urlsafe(_CODE_BYTES)
        expires_at = int(self._clock()) + self._lifetime_seconds
        sealed = self._seal.close({"token": token, "expires_at": expires_at})
        private_files.write(self._directory / f"{owner}.{_digest(code)}", sealed)
        return f"{LINK_PATH}#{code}", expires_at

    def redeem(self, code: str) -> str | None:
        """Return the token of a code once; None for a used, expired or unknown one.

        Raises OSError.
        """
        path = next(self._directory.glob(f"*.{_digest(code)}"), None)
        if path is None:
            return None
        try:
            sealed = path.read_text(encoding="ascii")
            path.unlink()  # of several that redeem it, one succeeds
        except FileNotFoundError:
            return None
        found = self._seal.open(sealed)
        if not isinstance(found, dict) or found["expires_at"] <= self._clock():
            return None
        return str(found["token"])

    def _require_room(self, owner: str) -> None:
        waiting = 0
        for path in self._directory.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime + self._lifetime_seconds <= self._clock():
                    path.unlink()
                elif path.name.startswith(f"{owner}."):
                    waiting += 1
        if waiting >= LINKS_OF_USER_MAX:
            raise exception.Conflict(
                f"{LINKS_OF_USER_MAX} links to the console are not opened yet; open them, "
                "or wait until they expire"
            )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
