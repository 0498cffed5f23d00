"""Stream to the serial console of a running guest, over a libvirt connection of its own."""

import contextlib
import threading
from typing import Any

PIECE_BYTES = 16 * 1024


class LibvirtSerialStream:
    """What the guest writes to its console, and what it reads there; a later stream ends this one.

    Implements ``SerialStream``; libvirt's errors become OSError.
    """

    def __init__(self, library: Any, uri: str, instance_uuid: str) -> None:
        """Open it. Raises libvirtError."""
        self._library = library
        self._opened = library.open(uri)
        self._is_closed = False
        self._lock = threading.Lock()
        try:
            self._stream = self._opened.newStream(0)
            domain = self._opened.lookupByUUIDString(instance_uuid)
            domain.openConsole(None, self._stream, library.VIR_DOMAIN_CONSOLE_FORCE)
        except library.libvirtError:
            self._opened.close()
            raise

    def read(self) -> bytes:
        try:
            data: bytes = self._stream.recv(PIECE_BYTES)
        except self._library.libvirtError as error:
            raise OSError(str(error)) from error
        return data

    def write(self, data: bytes) -> None:
        try:
            while data:
                data = data[self._stream.send(data) :]
        except self._library.libvirtError as error:
            raise OSError(str(error)) from error

    def close(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        for end in (self._stream.abort, self._opened.close):
            with contextlib.suppress(self._library.libvirtError):
                end()
