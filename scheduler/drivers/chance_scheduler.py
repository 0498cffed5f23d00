"""The chance scheduler: any host that is up."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.drivers.picking_scheduler import PickingScheduler
from scheduler.host_table import HostTable, Numbers


class ChanceScheduler(PickingScheduler):
    """Picks hosts at random.

    It looks at which hosts are up and enabled, at ``ignore_hosts``, and at a forced or requested
    host; hosts are filled without end, by servers of any flavor. Good for seeing what the rest of
    a deployment does under load, and for fleets whose hosts are all alike and much too big.
    """

    def _pick(self, hosts: HostTable, index: int) -> int:
        return self._dice.randrange(len(hosts))

    def _next_best(self, hosts: HostTable, others: Numbers, count: int) -> Sequence[int]:
        picked = self._dice.sample(range(len(others)), min(count, len(others)))
        return [int(others[index]) for index in picked]
