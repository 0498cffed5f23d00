"""Hosts whose agents are too old for orders of operations; no instance is moved there."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from armillary import exception
from armillary.context import RequestContext
from armillary.service_history import TAKES_ORDERS
from conductor.common.clock import Clock
from conductor.super_conductor.hosts.cells import Cells
from rpc.version_caps import is_too_new

CACHE_SECONDS = 5.0
"""Seconds to cache a cell's answer; many servers are moved at once when a host is drained."""


class OutdatedHosts:
    """The old hosts of each cell, cached."""

    def __init__(self, cells: Cells, *, monotonic: Clock = time.monotonic) -> None:
        self._cells = cells
        self._monotonic = monotonic
        self._guard = threading.Lock()
        self._found: dict[str, tuple[float, Sequence[str]]] = {}

    def list(self, context: RequestContext, cell_uuid: str) -> Sequence[str]:
        """Return the old hosts of a cell. Raises CellUnavailable.

        Empty for a cell whose conductor is too old to list them; that cell does not check either.
        """
        with self._guard:
            asked_at, hosts = self._found.get(cell_uuid, (None, ()))
        if asked_at is not None and self._monotonic() - asked_at < CACHE_SECONDS:
            return hosts
        found = self._ask(context, cell_uuid)
        with self._guard:
            self._found[cell_uuid] = (self._monotonic(), found)
        return found

    def refuse(
        self, context: RequestContext, cell_uuid: str, host: str | None, operation: str
    ) -> None:
        """Raise HostTooOld if the requested host is one of them."""
        if host is not None and host in self.list(context, cell_uuid):
            raise exception.HostTooOld(operation=operation, needed=TAKES_ORDERS, hosts=host)

    def _ask(self, context: RequestContext, cell_uuid: str) -> Sequence[str]:
        try:
            return self._cells.call(
                cell_uuid, lambda cell: cell.list_hosts_before(context, TAKES_ORDERS)
            )
        except exception.RpcVersionTooOld:
            return ()
        except exception.RpcFailed as error:
            if not is_too_new(error):
                raise
            return ()
