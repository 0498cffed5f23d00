"""Claims on the host before a build: limits, NUMA cells, devices and the late affinity check.

The late check catches members of a server group that concurrent requests placed against its policy.
"""

import logging
import time
from collections.abc import Callable, Sequence

from armillary import exception
from armillary.context import RequestContext
from compute_agent.environment import Environment
from compute_agent.host import child_providers
from compute_agent.host.allocation_ratios import AllocationRatios
from compute_agent.host.host_topology import DoesNotFit, FreeTopology
from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement, PlacementWanted
from compute_agent.host.pci_devices import PciDevice
from compute_agent.host.reserved import ReservedAmounts, ReservedTopology
from compute_agent.journal.journal import Entry, State
from compute_agent.work.named_locks import NamedLocks
from objects.instance import Instance
from objects.instances.instance_group import InstanceGroup
from objects.pci import pci_claimed
from objects.request_spec import RequestSpec, SchedulerLimits

LOG = logging.getLogger(__name__)

AFFINITY = "affinity"
ANTI_AFFINITY = "anti-affinity"
GROUP_TRIES = 5
GROUP_PAUSE_SECONDS = 2.0


class Claims:
    """Claims an instance's resources on its host, one claim at a time.

    Placement guards CPU, memory and disk. The agent checks what placement cannot: the limits that
    filters wrote into the request spec, NUMA cells, dedicated CPUs and PCI devices, and the current
    state of the server group, because two schedulers may have placed two members at the same time.
    """

    def __init__(
        self,
        env: Environment,
        *,
        ratios: AllocationRatios,
        node_uuid: Callable[[str], str],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._env = env
        self._ratios = ratios
        self._node_uuid = node_uuid
        self._sleep = sleep
        self._locks = NamedLocks()

    def claim(
        self, context: RequestContext, instance: Instance, spec: RequestSpec
    ) -> InstancePlacement | None:
        """Claim for a build and record it in the journal; None if the build is obsolete.

        Returns the instance's placement on the host. Idempotent: an existing claim of the attempt
        is kept. Raises GroupPolicyViolation, ComputeResourcesUnavailable.
        """

        def write(place: InstancePlacement) -> bool:
            return self._env.journal.claim(
                str(instance.host), instance.uuid, instance.attempt, place
            )

        return self._claim(context, instance, spec, write)

    def claim_arrival(
        self,
        context: RequestContext,
        instance: Instance,
        spec: RequestSpec,
        write: Callable[[InstancePlacement], bool],
    ) -> InstancePlacement | None:
        """Claim for an instance that will move to this host or be resized on it.

        ``write`` records the claim in the journal, where other claims see it; None if it refuses.
        What the instance already holds here stays claimed. Raises as ``claim``.
        """
        return self._claim(context, instance, spec, write, is_beside_itself=True)

    def _claim(
        self,
        context: RequestContext,
        instance: Instance,
        spec: RequestSpec,
        write: Callable[[InstancePlacement], bool],
        *,
        is_beside_itself: bool = False,
    ) -> InstancePlacement | None:
        group = spec.instance_group
        is_strict = group is not None and group.policy in (AFFINITY, ANTI_AFFINITY)
        is_unchecked = self._env.conf.workarounds.disable_group_policy_check_upcall
        arguments = (instance, spec, write, is_beside_itself)
        if group is None or not is_strict or is_unchecked:
            return self._claim_resources(*arguments)
        with self._locks.hold(("group", group.uuid, instance.host)):
            self._check_group(context, instance, group)
            return self._claim_resources(*arguments)

    def _claim_resources(
        self,
        instance: Instance,
        spec: RequestSpec,
        write: Callable[[InstancePlacement], bool],
        is_beside_itself: bool,
    ) -> InstancePlacement | None:
        if _fits_anywhere(spec):
            return ANYWHERE if write(ANYWHERE) else None
        host = str(instance.host)
        with self._locks.hold(("host", host)):
            entries = self._env.journal.list_entries(host=host)
            others = [entry for entry in entries if entry.instance_uuid != instance.uuid]
            if spec.limits is not None:
                self._check_limits(instance, spec.limits, others)
            place = _place_kept(instance, entries)
            if place is None:
                taken = entries if is_beside_itself else others
                place = self._find_place(instance, spec, taken)
            is_claimed = write(place)
        return place if is_claimed else None

    def _find_place(
        self, instance: Instance, spec: RequestSpec, others: list[Entry]
    ) -> InstancePlacement:
        host = str(instance.host)
        try:
            wanted = PlacementWanted.of(spec)
            if wanted.is_anywhere:
                return ANYWHERE
            claimed = (entry for entry in others if entry.is_claimed)
            places = FreeTopology.of(
                self._env.drivers[host],
                self._ratios.of(host),
                claimed,
                packing=self._env.conf.compute.packing_host_numa_cells_allocation_strategy,
                reserve=ReservedTopology.of(self._env.conf),
                devices=self._devices(host, wanted),
            )
            limits = spec.limits.numa_topology if spec.limits is not None else None
            return places.find(wanted, limits)
        except (DoesNotFit, exception.InvalidNUMATopology) as error:
            raise exception.ComputeResourcesUnavailable(
                instance_uuid=instance.uuid, host=host, reason=str(error)
            ) from error

    def _devices(self, host: str, wanted: PlacementWanted) -> Sequence[PciDevice]:
        """Return the host's devices, with provider UUIDs if the claim names providers."""
        devices = self._env.drivers[host].get_pci_devices()
        if any(pci_claimed.names_providers(request.spec) for request in wanted.pci_requests):
            return child_providers.named(devices, self._node_uuid(host))
        return devices

    def _check_limits(
        self, instance: Instance, limits: SchedulerLimits, others: list[Entry]
    ) -> None:
        others = [entry for entry in others if entry.is_claimed]
        reserved = ReservedAmounts.of(self._env.conf, guests=len(others) + 1)
        flavor = instance.flavor
        sums = (
            ("MiB of memory", limits.memory_mb, reserved.memory_mb, flavor.memory_mb,
             sum(entry.memory_mb for entry in others)),
            ("GiB of disk", limits.disk_gb, reserved.disk_gb, instance.disk_gb,
             sum(entry.disk_gb for entry in others)),
            ("vCPUs", limits.vcpu, reserved.vcpus, flavor.vcpus,
             sum(entry.vcpus for entry in others)),
        )  # fmt: skip
        for what, limit, kept_back, wanted, used in sums:
            if limit is not None and kept_back + used + wanted > limit:
                raise exception.ComputeResourcesUnavailable(
                    instance_uuid=instance.uuid,
                    host=instance.host,
                    reason=f"{wanted} {what} requested, {max(0, limit - kept_back - used)} free",
                )

    def _check_group(
        self, context: RequestContext, instance: Instance, group: InstanceGroup
    ) -> None:
        """Raise GroupPolicyViolation if another member rules out this host.

        The conductor records a member's host as soon as the build was sent there. Two members sent
        to the same host at the same time would therefore both see each other, so members here only
        count once they passed this check.
        """
        host = str(instance.host)
        members = self._list_members(context, instance, group)
        members.pop(instance.uuid, None)
        if group.policy == AFFINITY:
            is_violated = any(other != host for other in members.values())
        else:
            neighbours = {
                entry.instance_uuid
                for entry in self._env.journal.list_entries(host=host)
                if _is_settled_member(entry, group)
            }
            is_violated = len(neighbours & members.keys()) >= group.max_server_per_host
        if is_violated:
            raise exception.GroupPolicyViolation(
                policy=group.policy, host=host, instance_uuid=instance.uuid
            )

    def _list_members(
        self, context: RequestContext, instance: Instance, group: InstanceGroup
    ) -> dict[str, str]:
        failures = 0
        while True:
            try:
                return self._env.conductor.list_group_members(context, self._env.agent, group.uuid)
            except exception.Unavailable as error:
                failures += 1
                if failures == GROUP_TRIES:
                    raise exception.ComputeResourcesUnavailable(
                        instance_uuid=instance.uuid,
                        host=instance.host,
                        reason="the server group's members could not be retrieved",
                    ) from error
                LOG.warning("%s: retrying to get its server group: %s", instance.uuid, error)
            self._sleep(GROUP_PAUSE_SECONDS)


def _fits_anywhere(spec: RequestSpec) -> bool:
    """Return whether the request needs nothing that the host's other instances compete for."""
    limits = spec.limits
    if limits is not None and any(
        limit is not None for limit in (limits.memory_mb, limits.disk_gb, limits.vcpu)
    ):
        return False
    try:
        return PlacementWanted.of(spec).is_anywhere
    except exception.InvalidNUMATopology:
        return False  # reported when a placement is computed


def _place_kept(instance: Instance, entries: list[Entry]) -> InstancePlacement | None:
    """Return the placement that an attempt claimed before an agent restart."""
    for entry in entries:
        if entry.instance_uuid == instance.uuid and entry.attempt == instance.attempt:
            return entry.place
    return None


def _is_settled_member(entry: Entry, group: InstanceGroup) -> bool:
    return entry.group_uuid == group.uuid and entry.is_claimed and entry.state is not State.DELETING
