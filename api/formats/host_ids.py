"""Opaque ids of hosts: they only show which of a project's servers share a host.

An id is a keyed hash, since names of hosts can be guessed. The key is a secret of the deployment,
so that all API processes give the same id, and each project has a key of its own derived from it.
"""

import hashlib
import hmac
import time
from collections.abc import Callable

from armillary.context import RequestContext
from conductor.super_conductor.interface import SuperConductorAPI

KEY_SECONDS = 60.0
"""How long a key is used before it is asked for again: an operator may have replaced it."""


class HostIds:
    """Computes ids; asks the super conductor for the key, at most once in ``KEY_SECONDS``.

    ``clock`` returns seconds.
    """

    def __init__(
        self, conductor: SuperConductorAPI, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._conductor = conductor
        self._clock = clock
        self._key: bytes | None = None
        self._asked_at = 0.0

    def of(self, context: RequestContext, project_id: str, host: str | None) -> str:
        """Return the id of a host for a project; empty for a server without a host."""
        if host is None:
            return ""
        of_project = _keyed(self._current_key(context), project_id)
        return _keyed(of_project, host).hex()

    def _current_key(self, context: RequestContext) -> bytes:
        now = self._clock()
        if self._key is None or now - self._asked_at >= KEY_SECONDS:
            self._key = self._conductor.get_host_id_key(context).encode()
            self._asked_at = now
        return self._key


def _keyed(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), hashlib.sha256)
