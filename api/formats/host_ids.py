"""Opaque ids of hosts: they only show which of a project's servers share a host.

An id is a keyed hash, since names of hosts can be guessed. The key is a secret of the deployment,
so that all API processes give the same id, and each project has a key of its own derived from it.
"""

import hashlib
import hmac

from armillary.context import RequestContext
from conductor.super_conductor.interface import SuperConductorAPI


class HostIds:
    """Computes ids; asks the super conductor for the key once."""

    def __init__(self, conductor: SuperConductorAPI) -> None:
        self._conductor = conductor
        self._key: bytes | None = None

    def of(self, context: RequestContext, project_id: str, host: str | None) -> str:
        """Return the id of a host for a project; empty for a server without a host."""
        if host is None:
            return ""
        if self._key is None:
            self._key = self._conductor.get_host_id_key(context).encode()
        of_project = _keyed(self._key, project_id)
        return _keyed(of_project, host).hex()


def _keyed(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), hashlib.sha256)
