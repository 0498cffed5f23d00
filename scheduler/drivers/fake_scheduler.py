"""The fake scheduler: predictable placements for testing a deployment."""

from collections.abc import Sequence

import numpy as np

from scheduler.drivers.unfiltered_scheduler import PickingScheduler
from scheduler.hosts.host_table import HostTable, Numbers


class FakeScheduler(PickingScheduler):
    """Selects hosts in order of their names, starting from the first for each request.

    The first instance of a request gets the first host that is up, enabled and allowed, the second
    instance the second host, and so on in a round-robin. Alternates are the first other hosts of
    the cell. A test thus knows in advance where each server belongs, and can check that it gets
    there. For tests only: requests for a single server all go to the first host.
    """

    def _arranged(self, hosts: HostTable) -> HostTable:
        names = list(zip(hosts.host, hosts.nodename, strict=True))
        return hosts.take(np.array(sorted(range(len(names)), key=names.__getitem__), np.int64))

    def _pick(self, hosts: HostTable, index: int) -> int:
        return index % len(hosts)

    def _next_best(self, hosts: HostTable, others: Numbers, count: int) -> Sequence[int]:
        first: list[int] = others[:count].tolist()
        return first
