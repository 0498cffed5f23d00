"""Readiness of an API process: whether the services that it needs for requests answer."""

import threading
import time
from collections.abc import Callable

from armillary import exception
from armillary.context import admin_context
from conductor.super_conductor.interface import SuperConductorAPI

PING_SECONDS_MAX = 2.0
KEPT_SECONDS = 1.0
"""How long a result is kept, so that many probes cost one question."""
BROKER = "message broker"
SUPER_CONDUCTOR = "super conductor"


class Readiness:
    """Asks the super conductor, in one thread at a time; the others get the former result.

    It asks while the broker is unreachable, too: a process that is not ready gets no requests,
    so nothing else would find out that the broker is back.
    """

    def __init__(
        self,
        conductor: SuperConductorAPI,
        is_broker_away: Callable[[], bool] = lambda: False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._conductor = conductor
        self._is_broker_away = is_broker_away
        self._monotonic = monotonic
        self._asking = threading.Lock()
        self._missing: str | None = None
        self._read_at = float("-inf")

    def missing(self) -> str | None:
        """Return what does not answer; None if this process can serve requests."""
        if self._monotonic() - self._read_at < KEPT_SECONDS:
            return self._missing
        if not self._asking.acquire(blocking=False):
            return BROKER if self._is_broker_away() else self._missing
        try:
            self._missing = self._ask()
            self._read_at = self._monotonic()
        finally:
            self._asking.release()
        return self._missing

    def _ask(self) -> str | None:
        try:
            self._conductor.ping(admin_context(), timeout_seconds=PING_SECONDS_MAX)
        except exception.RpcUnavailable as error:
            no_server = "no server" in str(error.kwargs.get("reason"))
            return SUPER_CONDUCTOR if no_server else BROKER
        except exception.ArmillaryError:
            return BROKER if self._is_broker_away() else SUPER_CONDUCTOR
        return None
