"""Service state notifications to systemd (sd_notify); no-op outside systemd."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import MutableMapping

LOG = logging.getLogger(__name__)


class Notifier:
    """The notify socket of a unit with ``Type=notify`` and ``NotifyAccess=all``."""

    def __init__(self, address: str | None, watchdog_seconds: float | None) -> None:
        self._address = address
        self.watchdog_seconds = watchdog_seconds

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str] = os.environ) -> Notifier:
        """Read systemd's variables and remove them from the environment.

        Otherwise the launcher of oslo.service would report READY before any worker is, and
        workloads would inherit them.
        """
        address = environment.pop("NOTIFY_SOCKET", None)
        microseconds = environment.pop("WATCHDOG_USEC", "")
        pid = environment.pop("WATCHDOG_PID", "")
        is_watched = microseconds.isdecimal() and pid in ("", str(os.getpid()))
        return cls(address or None, int(microseconds) / 1e6 if is_watched else None)

    @property
    def is_enabled(self) -> bool:
        return self._address is not None

    def ready(self) -> None:
        self._send("READY=1", "STATUS=Serving")

    def starting(self, extend_seconds: float) -> None:
        """Request more time: waiting for the database or broker has no limit."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(extend_seconds * 1e6)}", "STATUS=Starting")

    def reloading(self) -> None:
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        self._send("STOPPING=1", "STATUS=Finishing work in progress")

    def watchdog(self) -> None:
        self._send("WATCHDOG=1")

    def _send(self, *lines: str) -> None:
        if self._address is None:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.connect(address)
                sender.sendall("\n".join(lines).encode())
        except OSError as error:
            LOG.debug("systemd was not notified of %s: %s", lines[0], error)
