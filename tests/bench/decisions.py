"""How long a decision takes inside the scheduler, on hosts as those of the reference's script.

Placement is left out on both sides: its answers are there already, its claims succeed immediately.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from armillary.context import admin_context
from objects.allocations.allocation import AllocationClaim, ClaimResult, ClaimStatus
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.allocations.resource_query import ResourceQuery
from scheduler.drivers.filter_scheduler import FilterScheduler
from tests.bench.measuring import Times
from tests.builders import a_flavor, a_uuid
from tests.fleets import ArrayPlacement, Host, a_driver, a_group, a_request_spec

INSTANCES = 20
USED_MAX = 40
OF_PLACEMENT = ("candidates", "claim")
WARM_UP = 2


def measured(hosts: int, instances: int, policy: str | None, rounds: int) -> Times:
    """Return the times of so many requests for so many instances, without those of placement."""
    driver = _driver(hosts)
    samples = [_decide(driver, instances, policy) for _ in range(WARM_UP + rounds)]
    return Times(samples[WARM_UP:])


def fleet_of(hosts: int, instances: int = INSTANCES) -> list[Host]:
    """Return hosts of one kind, used to different parts, each with so many instances."""
    return [
        Host(
            f"host{number:06}",
            values={
                "vcpus_total": 64, "total_usable_ram_mb": 262_144, "total_usable_disk_gb": 2_000,
                "num_instances": instances, "instance_uuids": [a_uuid() for _ in range(instances)],
                "hypervisor_version": 8_002_000,
                "supported_instances": [["x86_64", "kvm", "hvm"], ["i686", "kvm", "hvm"]],
            },
        )
        for number in range(hosts)
    ]  # fmt: skip


@lru_cache(maxsize=1)
def _driver(hosts: int) -> FilterScheduler:
    fleet = fleet_of(hosts)
    return a_driver(fleet, placement=_ReadyPlacement(fleet, ratio=4.0))


class _ReadyPlacement(ArrayPlacement):
    """Has one answer: all hosts. It names them by id, too, as the client does."""

    def __init__(self, hosts: Sequence[Host], *, ratio: float) -> None:
        super().__init__(hosts, ratio=ratio)
        used = np.arange(len(hosts)) % USED_MAX
        self.used[:] = np.stack([used, used * 512, used * 10], axis=1)
        self._ids = np.arange(1, len(hosts) + 1)

    def get_allocation_candidates(
        self, context: object, query: ResourceQuery
    ) -> AllocationCandidates:
        (group,) = query.groups
        found = AllocationCandidates.from_values(
            provider_uuids=self.uuids,
            resource_classes=list(group.resources),
            amounts=np.array(list(group.resources.values()), dtype=np.int64),
            total=self.total.copy(),
            reserved=self.reserved.copy(),
            used=self.used.copy(),
            ratio=self.ratio.copy(),
            providers_total=len(self.uuids),
            provider_ids=self._ids,
        )
        found.id_mapping = self
        return found

    def claim(self, context: object, claims: Sequence[AllocationClaim]) -> list[ClaimResult]:
        return [
            ClaimResult(consumer_uuid=claim.consumer_uuid, status=ClaimStatus.CLAIMED, reason=None)
            for claim in claims
        ]


def _decide(driver: FilterScheduler, instances: int, policy: str | None) -> float:
    flavor = a_flavor(vcpus=1, memory_mb=512, root_gb=10)
    uuids = [a_uuid() for _ in range(instances)]
    spec = a_request_spec(flavor=flavor, instance_group=a_group(policy) if policy else None)
    found = driver.select_destinations(
        admin_context(), spec, uuids, fences=[1000] * instances, return_alternates=True,
        dry_run=False,
    )  # fmt: skip
    timings = found.trace.timings_ms
    driver._host_store.forget(uuids)  # every round begins with the same hosts
    return float(timings["total"] - sum(timings[each] for each in OF_PLACEMENT)) / 1e3
