"""The trust list as a process has it: from its file, renewed by pushes, never an older one."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from armillary import exception
from rpc.signing import trust
from rpc.signing.keys import PublicKey

LOG = logging.getLogger(__name__)

_LOOK_SECONDS = 1.0


class TrustFile:
    """Looks at the file once a second at most; what is pushed is written there, for a restart.

    A file that is broken, signed by a stranger or older than what is known is refused with one
    log line, and the list stays as it was.
    """

    def __init__(
        self,
        path: Path,
        kind: str,
        roots: Sequence[PublicKey],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the list. Raises ConfigurationError: without one, nobody could be believed."""
        self._path = path
        self.kind = kind
        self._roots = list(roots)
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_at = clock()
        self._seen = self._stamp()
        self.document = self._read()
        try:
            self._list = self._opened(self.document)
        except exception.Invalid as error:
            raise exception.ConfigurationError(
                reason=f"[signing] trust_file {path}: {error.message}"
            ) from error

    def current(self) -> trust.TrustList:
        """Return the list as it is now."""
        if self._clock() - self._looked_at >= _LOOK_SECONDS:
            self._look()
        return self._list

    def offer(self, document: str) -> bool:
        """Take over a list that was pushed when it is newer; return whether it was.

        Raises Invalid when no root signed it, or it is a list of another kind.
        """
        offered = self._opened(document)
        with self._lock:
            if offered.serial <= self._list.serial:
                return False
            self._write(document)
            self._list, self.document = offered, document
        LOG.info("the trust list %d has %d identities", offered.serial, len(offered.identities))
        return True

    def _opened(self, document: str) -> trust.TrustList:
        found = trust.opened(document, self._roots)
        if found.kind != self.kind:
            raise exception.Invalid(reason=f"it is the list of {found.kind}, not of {self.kind}")
        return found

    def _look(self) -> None:
        with self._lock:
            self._looked_at = self._clock()
            stamp = self._stamp()
            if stamp == self._seen:
                return
            self._seen = stamp
        try:
            self.offer(self._read())
        except exception.Invalid as error:
            LOG.warning("trust file %s stays as it was: %s", self._path, error.message)

    def _read(self) -> str:
        try:
            return self._path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise exception.ConfigurationError(
                reason=f"[signing] trust_file {self._path} cannot be read: "
                f"{getattr(error, 'strerror', None) or 'it is not text'}"
            ) from error

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino

    def _write(self, document: str) -> None:
        """Keep the list for the next start; a disk that refuses costs that only."""
        beside = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            beside.write_text(document)
            beside.replace(self._path)
        except OSError as error:
            LOG.warning("trust file %s cannot be written: %s", self._path, error.strerror)
        self._seen = self._stamp()
