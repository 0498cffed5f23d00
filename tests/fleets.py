"""Fleets of hosts for tests and benchmarks of scheduling, and a placement for them."""

import dataclasses
import itertools
import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from oslo_config import cfg

from armillary.conf import base, compute, conductor, register, rpc
from armillary.conf.scheduling import (
    filter_scheduler,
    metrics,
    scheduler,
    trusted_computing,
    workarounds,
    zones,
)
from objects.aggregate import Aggregate
from objects.allocations.allocation import ALREADY_HELD, AllocationClaim, ClaimResult, ClaimStatus
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.allocations.resource_query import RequestGroup, ResourceQuery
from objects.hosts import host_attributes
from objects.hosts.host_states import HostStateBatch
from objects.instances.group_claim import GroupMember
from objects.instances.instance_group import InstanceGroup
from objects.request_spec import RequestSpec
from placement.ledger.group_places import GroupPlaces, place_of
from scheduler.drivers.filter_scheduler import FilterScheduler
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.hosts.host_table import HostTable
from scheduler.hosts.store.host_store import HostStore
from tests.builders import a_flavor, a_uuid
from tests.fixtures.configuration import messaging_conf

CELL = "10000000-0000-0000-0000-000000000001"
OTHER_CELL = "10000000-0000-0000-0000-000000000002"
CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")
AGENTS_TRAIT = "OWNER_NOVA"
"""A trait of every host: agents report it, and a request filter requires it."""
A_HOST = {
    "service_up": True,
    "vcpus_total": 16,
    "total_usable_ram_mb": 32768,
    "free_ram_mb": 32768,
    "total_usable_disk_gb": 500,
    "free_disk_mb": 512000,
    "hypervisor_type": "simulated",
    "hypervisor_version": 1000000,
    "supported_instances": [["x86_64", "simulated", "hvm"]],
    "stats": {},
}


def scheduling_conf(**values: Any) -> cfg.ConfigOpts:
    """Return a configuration with the scheduler's options; ``group__option=value`` changes one."""
    conf = messaging_conf()
    register(
        conf, base, compute, conductor, rpc, scheduler, filter_scheduler, metrics,
        trusted_computing, workarounds, zones,
    )  # fmt: skip
    for name, value in values.items():
        group, _, option = name.rpartition("__")
        conf.set_override(option, value, group=group or None)
    return conf


# Hosts --------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Host:
    """A host of a test: a node's UUID, its names, and those attributes that are not as usual.

    Its ``node`` is named after it unless a name is given.
    """

    name: str = "host1"
    uuid: str = dataclasses.field(default_factory=a_uuid)
    cell: str = CELL
    values: dict[str, Any] = dataclasses.field(default_factory=dict)
    node: str = ""

    @property
    def attributes(self) -> dict[str, Any]:
        return {**A_HOST, **self.values}


def a_host(name: str = "host1", *, cell: str = CELL, **values: Any) -> Host:
    """Return a host of 16 vCPUs, 32 GiB of memory and 500 GiB of disk, empty and up."""
    return Host(name=name, cell=cell, values=values)


def some_hosts(count: int, **values: Any) -> list[Host]:
    """Return so many equal hosts, host1 and so on."""
    return [a_host(f"host{number}", **values) for number in range(1, count + 1)]


def a_batch(
    hosts: Sequence[Host], *, cell: str = CELL, first_seq: int = 0, last_seq: int = 1, **values: Any
) -> HostStateBatch:
    """Return the states of these hosts as their cell pushes them."""
    return HostStateBatch.from_values(
        cell_uuid=cell,
        first_seq=first_seq,
        last_seq=last_seq,
        node_uuids=[host.uuid for host in hosts],
        hosts=[host.name for host in hosts],
        nodes=[host.node or f"{host.name}.example.org" for host in hosts],
        attributes={
            attribute.name: [host.attributes.get(attribute.name) for host in hosts]
            for attribute in host_attributes.HOST_ATTRIBUTES
        },
        **values,
    )


def some_cluster_metadata(
    aggregates: Iterable[Aggregate] = (), *, seq: int = 1, disabled: Iterable[str] = ()
) -> ClusterMetadata:
    return ClusterMetadata(
        seq=seq,
        cells=[
            {"uuid": uuid, "name": name, "disabled": uuid in set(disabled)}
            for uuid, name in ((CELL, "cell1"), (OTHER_CELL, "cell2"))
        ],
        aggregates=aggregates,
    )


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def a_fleet(
    hosts: Sequence[Host],
    *,
    cluster_metadata: ClusterMetadata | None = None,
    conf: cfg.ConfigOpts | None = None,
    clock: Clock | None = None,
) -> HostStore:
    fleet = HostStore(conf or scheduling_conf(), clock=clock or Clock())
    fleet.set_cluster_metadata(cluster_metadata or some_cluster_metadata())
    for cell, members in itertools.groupby(
        sorted(hosts, key=lambda host: host.cell), key=lambda host: host.cell
    ):
        fleet.apply(a_batch(list(members), cell=cell, full=True))
    return fleet


def a_table(hosts: Sequence[Host], *, cluster_metadata: ClusterMetadata | None = None) -> HostTable:
    """Return a table of these hosts, in their order."""
    table, _known = a_fleet(hosts, cluster_metadata=cluster_metadata).view(
        [host.uuid for host in hosts]
    )
    return table


# Requests -----------------------------------------------------------------------------------------


def a_request_spec(extra_specs: Mapping[str, str] | None = None, **values: Any) -> RequestSpec:
    """Return a request for one vCPU, 512 MiB of memory and 1 GiB of disk."""
    defaults = {
        "project_id": "p1",
        "user_id": "u1",
        "flavor": a_flavor(extra_specs=dict(extra_specs or {})),
    }
    return RequestSpec.from_values({**defaults, **values})


def a_group(policy: str, **values: Any) -> InstanceGroup:
    defaults = {"uuid": a_uuid(), "name": "group", "project_id": "p1", "user_id": "u1"}
    return InstanceGroup.from_values({"policy": policy, **defaults, **values})


# Placement ----------------------------------------------------------------------------------------


class ArrayPlacement:
    """Plain providers in arrays, behind those calls of ``PlacementAPI`` that a scheduler makes."""

    def __init__(self, hosts: Sequence[Host], *, ratio: float = 1.0) -> None:
        self.uuids = [host.uuid for host in hosts]
        self.index = {uuid: index for index, uuid in enumerate(self.uuids)}
        columns = [
            [host.attributes[name] for host in hosts]
            for name in ("vcpus_total", "total_usable_ram_mb", "total_usable_disk_gb")
        ]
        self.total = np.array(columns, dtype=np.int64).T.reshape(len(hosts), len(CLASSES))
        self.reserved = np.zeros_like(self.total)
        self.used = np.zeros_like(self.total)
        self.ratio = np.full(self.total.shape, ratio)
        self.traits: dict[str, set[str]] = {uuid: set() for uuid in self.uuids}
        self.aggregates: dict[str, set[str]] = {}
        self.consumers: dict[str, tuple[str, np.ndarray]] = {}
        self.refusals: Counter[str] = Counter()  # provider -> how many claims are to be refused
        self.fenced: set[str] = set()
        self.claim_calls: list[list[AllocationClaim]] = []
        self.released: list[str] = []
        self.queries: list[ResourceQuery] = []
        self.groups = GroupPlaces()
        self.epoch = 0

    def get_allocation_candidates(
        self, context: object, query: ResourceQuery
    ) -> AllocationCandidates:
        self.queries.append(query)
        (group,) = query.groups
        ruled_out: list[dict[str, Any]] = []
        left = np.ones(len(self.uuids), dtype=bool)
        root = RequestGroup.from_values(
            required_traits=[[trait] for trait in query.root_required],
            forbidden_traits=query.root_forbidden,
        )
        for entry, mask in (*self._rules(root), *self._rules(group)):
            failed = left & ~mask
            if failed.any():
                if entry["kind"] == "resource":
                    entry["best"] = int(self._free(CLASSES.index(entry["name"]))[failed].max())
                uuids = [self.uuids[index] for index in np.flatnonzero(failed)]
                ruled_out.append({**entry, "count": len(uuids), "providers": uuids})
            left &= mask
        found = np.flatnonzero(left)[: query.limit]
        columns = np.array([CLASSES.index(name) for name in group.resources], dtype=np.int64)
        cut = np.ix_(found, columns)
        return AllocationCandidates.from_values(
            provider_uuids=[self.uuids[index] for index in found],
            resource_classes=list(group.resources),
            amounts=np.array(list(group.resources.values()), dtype=np.int64),
            total=self.total[cut],
            reserved=self.reserved[cut],
            used=self.used[cut],
            ratio=self.ratio[cut],
            providers_total=len(self.uuids),
            ruled_out=ruled_out,
        )

    def claim(self, context: object, claims: Sequence[AllocationClaim]) -> list[ClaimResult]:
        self.claim_calls.append(list(claims))
        return [self._claim(claim) for claim in claims]

    def release(self, context: object, consumers: Mapping[str, int]) -> None:
        for uuid in consumers:
            self.released.append(uuid)
            self.groups.put(uuid, None)
            provider, amounts = self.consumers.pop(uuid)
            self.used[self.index[provider]] -= amounts

    def list_group_members(self, context: object, group_uuid: str) -> list[GroupMember]:
        places = self.groups.places.get(group_uuid, {}).values()
        return [GroupMember(each.member_uuid, each.host, each.epoch) for each in places]

    def fill(self, host: Host, **amounts: int) -> None:
        """Let something else use amounts of a host."""
        for name, amount in amounts.items():
            self.used[self.index[host.uuid], CLASSES.index(name)] += amount

    def _claim(self, claim: AllocationClaim) -> ClaimResult:
        ((provider, wanted),) = claim.allocations.items()
        amounts = np.array([wanted["resources"].get(name, 0) for name in CLASSES])
        row = self.index[provider]
        capacity = (self.total[row] - self.reserved[row]) * self.ratio[row]
        status = ClaimStatus.CLAIMED
        reason = None
        if claim.consumer_uuid in self.fenced:
            status = ClaimStatus.FENCED
        elif claim.consumer_uuid in self.consumers:
            is_same = self.consumers[claim.consumer_uuid][0] == provider
            status = ClaimStatus.CLAIMED if is_same else ClaimStatus.CONFLICT
            reason = ALREADY_HELD if is_same else None
        elif self.refusals[provider] > 0:
            self.refusals[provider] -= 1
            status = ClaimStatus.NO_CAPACITY
        elif np.any(self.used[row] + amounts > capacity):
            status = ClaimStatus.NO_CAPACITY
        elif claim.group and self.groups.refusal(claim.consumer_uuid, claim.group, None):
            status = ClaimStatus.GROUP_CHANGED
        else:
            self.epoch += 1
            if claim.group is not None:
                place = place_of(claim.consumer_uuid, claim.group, None, epoch=self.epoch)
                self.groups.put(claim.consumer_uuid, place)
            self.used[row] += amounts
            self.consumers[claim.consumer_uuid] = (provider, amounts)
        return ClaimResult(consumer_uuid=claim.consumer_uuid, status=status, reason=reason)

    def _free(self, column: int) -> np.ndarray:
        capacity = (self.total[:, column] - self.reserved[:, column]) * self.ratio[:, column]
        free: np.ndarray = capacity - self.used[:, column]
        return free

    def _rules(self, group: RequestGroup) -> Iterable[tuple[dict[str, Any], np.ndarray]]:
        for name, amount in group.resources.items():
            if name not in CLASSES:
                entry = {"kind": "resource", "name": name, "asked": amount, "best": 0}
                yield entry, np.zeros(len(self.uuids), dtype=bool)
                return
            entry = {"kind": "resource", "name": name, "asked": amount}
            yield entry, self._free(CLASSES.index(name)) >= amount
        for traits in group.required_traits:
            yield {"kind": "trait", "name": " or ".join(traits)}, self._with_traits(traits)
        for trait in group.forbidden_traits:
            yield {"kind": "forbidden_trait", "name": trait}, ~self._with_traits([trait])
        for aggregates in group.member_of:
            inside = set().union(*(self.aggregates.get(uuid, set()) for uuid in aggregates))
            mask = np.array([uuid in inside for uuid in self.uuids], dtype=bool)
            yield {"kind": "member_of", "name": " or ".join(aggregates)}, mask

    def _with_traits(self, traits: Iterable[str]) -> np.ndarray:
        wanted = set(traits)
        if AGENTS_TRAIT in wanted:
            return np.ones(len(self.uuids), dtype=bool)
        if not any(self.traits.values()):
            return np.zeros(len(self.uuids), dtype=bool)
        return np.array([bool(wanted & self.traits[uuid]) for uuid in self.uuids], dtype=bool)


# The scheduler ------------------------------------------------------------------------------------


def a_driver(
    hosts: Sequence[Host],
    *,
    placement: ArrayPlacement | None = None,
    fleet: HostStore | None = None,
    conf: cfg.ConfigOpts | None = None,
    seed: int = 1,
) -> FilterScheduler:
    conf = conf or scheduling_conf()
    return FilterScheduler(
        conf,
        host_store=fleet or a_fleet(hosts, conf=conf),
        placement=placement or ArrayPlacement(hosts),  # type: ignore[arg-type]  # as far as asked
        rng=random.Random(seed),
        clock=time.perf_counter,
        now=lambda: datetime(2030, 1, 31, tzinfo=UTC),
    )
