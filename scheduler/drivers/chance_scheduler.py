"""The chance scheduler: a random host that is up."""

from collections.abc import Sequence

from scheduler.drivers.unfiltered_scheduler import PickingScheduler
from scheduler.hosts.host_table import HostTable, Numbers


class ChanceScheduler(PickingScheduler):
    """Selects hosts at random.

    It considers only whether hosts are up and enabled, ``ignore_hosts``, and a forced or requested
    host. It ignores capacity and flavors. Use it to load-test the rest of a deployment, or if all
    hosts are alike and far from full.
    """

    def _pick(self, hosts: HostTable, index: int) -> int:
        return self._rng.randrange(len(hosts))

    def _next_best(self, hosts: HostTable, others: Numbers, count: int) -> Sequence[int]:
        picked = self._rng.sample(range(len(others)), min(count, len(others)))
        return [int(others[index]) for index in picked]
