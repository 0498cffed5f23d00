"""Hosts whose agents cannot be told yet what operations need: no place for what moves."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from armillary import exception
from armillary.context import RequestContext
from armillary.service_history import TAKES_ORDERS
from conductor.cells import Cells
from conductor.moments import Now
from rpc.version_caps import is_too_new

KEPT_SECONDS = 5.0
"""Many servers are moved at once when a host is emptied: the cell is asked so often."""


class OldHosts:
    """The hosts of each cell, as it said when it was last asked."""

    def __init__(self, cells: Cells, *, monotonic: Now = time.monotonic) -> None:
        self._cells = cells
        self._monotonic = monotonic
        self._guard = threading.Lock()
        self._found: dict[str, tuple[float, Sequence[str]]] = {}

    def list(self, context: RequestContext, cell_uuid: str) -> Sequence[str]:
        """Return the hosts of a cell. Raises CellUnavailable.

        None are known of a cell whose conductor is too old to say; it checks nothing either.
        """
        with self._guard:
            asked_at, hosts = self._found.get(cell_uuid, (None, ()))
        if asked_at is not None and self._monotonic() - asked_at < KEPT_SECONDS:
            return hosts
        found = self._ask(context, cell_uuid)
        with self._guard:
            self._found[cell_uuid] = (self._monotonic(), found)
        return found

    def refuse(
        self, context: RequestContext, cell_uuid: str, host: str | None, operation: str
    ) -> None:
        """Raise HostTooOld when the host that was asked for is one of them."""
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
