"""Renewal of the idempotency records of requests in progress.

A record that is not renewed is that of a process that died: a repeat need not wait long for it.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator

from armillary.idempotency import RENEWED_SECONDS_MAX

LOG = logging.getLogger(__name__)

RENEWAL_SECONDS = RENEWED_SECONDS_MAX / 4
"""Seconds between two renewals of the record of a request that takes so long."""

Renew = Callable[[], None]


class Renewals:
    """Renews the records of the requests that this process handles, from a thread of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handled: dict[object, tuple[float, Renew]] = {}
        self._is_running = False

    @contextlib.contextmanager
    def during(self, renew: Renew) -> Iterator[None]:
        """Call ``renew`` every ``RENEWAL_SECONDS`` until the block ends."""
        request = object()
        self.add(request, renew)
        try:
            yield
        finally:
            self.end(request)

    def add(self, request: object, renew: Renew) -> None:
        """Call ``renew`` every ``RENEWAL_SECONDS`` until the request ends; log its errors."""
        with self._lock:
            self._handled[request] = time.monotonic() + RENEWAL_SECONDS, renew
            is_started, self._is_running = self._is_running, True
        if not is_started:
            threading.Thread(target=self._renew_on, name="renewals", daemon=True).start()

    def end(self, request: object) -> None:
        """Renew the record of this request no more."""
        with self._lock:
            self._handled.pop(request, None)

    def _renew_on(self) -> None:
        """Renew while there are requests; the next one starts another thread."""
        while True:
            time.sleep(RENEWAL_SECONDS)
            with self._lock:
                self._is_running = bool(self._handled)
                if not self._is_running:
                    return
                now = time.monotonic()
                due = [renew for at, renew in self._handled.values() if at <= now]
            for renew in due:
                _try(renew)


def _try(renew: Renew) -> None:
    try:
        renew()
    except Exception as error:  # the others are renewed all the same
        LOG.info("The record of a request in progress was not renewed: %s", error)
