"""The fake scheduler: a known answer, for tests of a deployment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler.drivers.picking_scheduler import PickingScheduler
from scheduler.host_table import HostTable, Numbers


class FakeScheduler(PickingScheduler):
    """Gives hosts in the order of their names, from the first one again for each request.

    The first instance of a request gets the first host that is up, enabled and allowed, the second
    one the second, and after the last host it is the first one's turn again; alternates are the
    first others of the cell. So whoever tests a deployment knows beforehand where each server is to
    be, and sees whether it gets there. It is for tests only: it fills the first host with all
    requests for one server.
    """

    def _arranged(self, hosts: HostTable) -> HostTable:
        names = list(zip(hosts.host, hosts.nodename, strict=True))
        return hosts.take(np.array(sorted(range(len(names)), key=names.__getitem__), np.int64))

    def _pick(self, hosts: HostTable, index: int) -> int:
        return index % len(hosts)

    def _next_best(self, hosts: HostTable, others: Numbers, count: int) -> Sequence[int]:
        first: list[int] = others[:count].tolist()
        return first
