"""The libvirt library, and a connection that is reopened when it is lost."""

import importlib
import logging
import threading
import time
from typing import Any

from armillary import exception
from armillary.logs.outage_log import OutageLog

LOG = logging.getLogger(__name__)

MODULE = "libvirt"
RETRY_SECONDS = 0.5
HOW_TO_INSTALL = (
    "the driver libvirt needs libvirt-python: install the distribution's package libvirt-dev (or "
    "libvirt-devel), then `pip install 'armillary[libvirt]'`"
)


def load_library() -> Any:
    """Return the libvirt-python module, with its error output to stderr disabled.

    Raises ConfigurationError with installation instructions.
    """
    try:
        library = importlib.import_module(MODULE)
    except ImportError as error:
        raise exception.ConfigurationError(reason=f"{HOW_TO_INSTALL} ({error})") from error
    library.registerErrorHandler(_ignore, None)  # errors are also raised
    return library


def _ignore(_context: object, _error: object) -> None: ...


class Connection:
    """A connection shared by all threads of a driver."""

    def __init__(self, library: Any, uri: str) -> None:
        self.library = library
        self.uri = uri
        self._lock = threading.Lock()
        self._opened: Any = None
        self._number = 0
        self._outage = OutageLog(LOG, f"libvirt at {uri}")

    def get(self) -> Any:
        """Return a working connection (virConnect). Raises Unavailable with libvirt's reason."""
        with self._lock:
            if self._opened is not None and not self._answers():
                self._outage.failed("the connection was lost")
                self._drop()
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    @property
    def number(self) -> int:
        """How often it has been opened."""
        return self._number

    def is_lost(self, number: int) -> bool:
        """Return whether the connection with this number is open no more."""
        with self._lock:
            return self._opened is None or self._number != number or not self._answers()

    def returns(self, seconds: float) -> bool:
        """Wait until the daemon answers again; return whether it does within ``seconds``."""
        give_up_at = time.monotonic() + seconds
        while True:
            try:
                self.get()
            except exception.Unavailable:
                if time.monotonic() >= give_up_at:
                    return False
                time.sleep(RETRY_SECONDS)
            else:
                return True

    def close(self) -> None:
        """Close the connection; guests keep running."""
        with self._lock:
            self._drop()

    def _open(self) -> Any:
        try:
            opened = self.library.open(self.uri)
        except self.library.libvirtError as error:
            self._outage.failed(error)
            raise exception.Unavailable(reason=f"{self.uri}: {error}") from error
        self._outage.succeeded()
        self._number += 1
        return opened

    def _answers(self) -> bool:
        """Probe the connection: a lost one is only noticed by the next call."""
        try:
            self._opened.getLibVersion()
        except self.library.libvirtError:
            return False
        return True

    def _drop(self) -> None:
        opened, self._opened = self._opened, None
        if opened is None:
            return
        try:
            opened.close()
        except self.library.libvirtError as error:
            LOG.debug("Closing the connection to %s failed: %s", self.uri, error)
