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
from armillary import exception, private_files

LINK_PATH = "/ui/login"
PLAIN_PATH = "/ui/"
"""Where the page is for a caller who needs no login."""
LINKS_MAX = 1000
"""Links that wait to be opened; each is forgotten when it has expired."""
CODE_CHARACTERS_MAX = 100
_CODE_BYTES = 24


class ConsoleLinks:
    """Makes and redeems links; thread-safe, and safe between processes.

    The directory holds one file for each link, named by a hash of its code, so that a reader of the
    names cannot open one. Who removes the file has redeemed it.
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

    def make(self, token: str) -> tuple[str, int]:
        """Return the path of a new link, and when it expires, in seconds since 1970.

        The code is in the fragment, which browsers send to no server. Raises OSError, and
        ``Conflict`` while too many links wait.
        """
        private_files.make_directory(self._directory)
        self._require_room()
        code = secrets.token_urlsafe(_CODE_BYTES)
        expires_at = int(self._clock()) + self._lifetime_seconds
        sealed = self._seal.close({"token": token, "expires_at": expires_at})
        private_files.write(self._path(code), sealed)
        return f"{LINK_PATH}#{code}", expires_at

    def redeem(self, code: str) -> str | None:
        """Return the token of a code once; None for a used, expired or unknown one.

        Raises OSError.
        """
        path = self._path(code)
        try:
            sealed = path.read_text(encoding="ascii")
            path.unlink()  # of several that redeem it, one succeeds
        except FileNotFoundError:
            return None
        found = self._seal.open(sealed)
        if not isinstance(found, dict) or found["expires_at"] <= self._clock():
            return None
        return str(found["token"])

    def _path(self, code: str) -> Path:
        return self._directory / hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()

    def _require_room(self) -> None:
        waiting = 0
        for path in self._directory.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime + self._lifetime_seconds <= self._clock():
                    path.unlink()
                else:
                    waiting += 1
        if waiting >= LINKS_MAX:
            raise exception.Conflict(
                f"{LINKS_MAX:,} links to the console are not opened yet; open them, "
                "or wait until they expire"
            )
