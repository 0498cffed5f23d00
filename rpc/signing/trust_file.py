"""A process's trust list: read from its file, updated by pushes, never replaced by an older one."""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from armillary import exception
from rpc.signing import trust
from rpc.signing.keys import PublicKey, stamp_of

LOG = logging.getLogger(__name__)

_LOOK_SECONDS = 1.0


class TrustFile:
    """Checks the file at most once a second; pushed lists are written to it for the next start.

    A file that is malformed, signed by an unknown root or older than the current list is ignored
    with one log line.
    """

    def __init__(
        self,
        path: Path,
        kind: str,
        roots: Sequence[PublicKey],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the list. Raises ConfigurationError, since nothing could be verified without it."""
        self._path = path
        self.kind = kind
        self._roots = list(roots)
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_at = clock()
        self._seen = stamp_of(self._path)
        self.document = self._read()
        try:
            self._list = self._opened(self.document)
        except exception.Invalid as error:
            raise exception.ConfigurationError(
                reason=f"[signing] trust_file {path}: {error.message}"
            ) from error

    @property
    def root_ids(self) -> frozenset[str]:
        """Ids of the root keys that may sign the list."""
        return frozenset(root.key_id for root in self._roots)

    def current(self) -> trust.TrustList:
        """Return the current list."""
        if self._clock() - self._looked_at >= _LOOK_SECONDS:
            self._look()
        return self._list

    def offer(self, document: str) -> bool:
        """Replace the list if ``document`` is newer; return whether it was.

        Raises Invalid if no root signed it, or it is a list of another kind.
        """
        offered = self._opened(document)
        with self._lock:
            if offered.serial <= self._list.serial:
                return False
            self._write(document)
            self._list, self.document = offered, document
        LOG.info("Loaded trust list %d; identities: %d", offered.serial, len(offered.identities))
        return True

    def _opened(self, document: str) -> trust.TrustList:
        found = trust.verified(document, self._roots)
        if found.kind != self.kind:
            raise exception.Invalid(reason=f"it is a list of {found.kind}, not of {self.kind}")
        return found

    def _look(self) -> None:
        with self._lock:
            self._looked_at = self._clock()
            stamp = stamp_of(self._path)
            if stamp == self._seen:
                return
            self._seen = stamp
        try:
            self.offer(self._read())
        except exception.Invalid as error:
            LOG.warning(
                "Ignored trust file %s, keeping the old list: %s", self._path, error.message
            )

    def _read(self) -> str:
        try:
            return self._path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise exception.ConfigurationError(
                reason=f"[signing] trust_file {self._path} cannot be read: "
                f"{getattr(error, 'strerror', None) or 'it is not text'}"
            ) from error

    def _write(self, document: str) -> None:
        """Write the list for the next start; a failure is only logged."""
        beside = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            beside.write_text(document)
            beside.replace(self._path)
        except OSError as error:
            LOG.warning("Cannot write trust file %s: %s", self._path, error.strerror)
        self._seen = stamp_of(self._path)
