"""Reports of a simulated host's agent to its cell and to placement, and its NUMA topology."""

import itertools
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from objects.aggregate import Aggregate
from objects.hosts.host_attributes import HOST_ATTRIBUTES
from objects.hosts.host_states import HostStateBatch
from objects.numa import HostCell, HostTopology
from simulator.scenario.scenario import Amount, HostShape

_NAMESPACE = uuid.UUID("0f4a2f0e-8f0c-4b5e-9f8e-2a6b7c1d3e5f")
_NOTHING = Amount(0)
_AGENT_TRAITS = ("COMPUTE_NODE", "OWNER_NOVA")


class ReportedHost(Protocol):
    """The part of a simulated host that its reports contain."""

    @property
    def uuid(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> HostShape: ...


def uuid_of(kind: str, name: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{kind}/{name}"))


def attributes_of(
    shape: HostShape, name: str, used: Mapping[str, int], instance_uuids: Sequence[str]
) -> dict[str, object]:
    """Return the attributes derived from a host's shape and its usage."""
    vcpus, memory, disk = (
        shape.amounts.get(name, _NOTHING) for name in ("VCPU", "MEMORY_MB", "DISK_GB")
    )
    memory_used = memory.reserved + used.get("MEMORY_MB", 0)
    disk_used = disk.reserved + used.get("DISK_GB", 0)
    return {
        "hypervisor_type": "simulated",
        "hypervisor_version": 1_000_000,
        "host_ip": "192.0.2.1",
        "supported_instances": [["x86_64", "simulated", "hvm"]],
        "hypervisor_hostname": name,
        **shape.attributes,
        "vcpus_total": vcpus.total,
        "vcpus_used": vcpus.reserved + used.get("VCPU", 0),
        "total_usable_ram_mb": memory.total,
        "free_ram_mb": memory.total - memory_used,
        "total_usable_disk_gb": disk.total,
        "free_disk_mb": (disk.total - disk_used) * 1024,
        "disk_mb_used": disk_used * 1024,
        "cpu_allocation_ratio": vcpus.ratio,
        "ram_allocation_ratio": memory.ratio,
        "disk_allocation_ratio": disk.ratio,
        "num_instances": len(instance_uuids),
        "instance_uuids": list(instance_uuids),
        "service_up": True,
    }


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the attributes of hosts as a cell pushes them, one row per host."""
    return {
        attribute.name: [row.get(attribute.name, attribute.default) for row in rows]
        for attribute in HOST_ATTRIBUTES
    }


def batch_of(
    cell: str,
    first_seq: int,
    hosts: Sequence[ReportedHost],
    columns: Mapping[str, list[Any]],
    *,
    is_full: bool,
) -> HostStateBatch:
    """Return the push of a cell with these hosts; ``columns`` are their attributes."""
    return HostStateBatch.from_values(
        cell_uuid=cell,
        first_seq=first_seq,
        last_seq=first_seq + 1,
        full=is_full,
        node_uuids=[host.uuid for host in hosts],
        hosts=[host.name for host in hosts],
        nodes=[host.name for host in hosts],
        attributes=columns if hosts else {},
    )


def providers_of(hosts: Sequence[ReportedHost]) -> list[dict[str, object]]:
    """Return hosts as for ``PlacementAPI.set_providers``; those of one shape share the details."""
    inventories = {id(host.shape): _inventories(host.shape) for host in hosts}
    traits = {id(host.shape): sorted({*host.shape.traits, *_AGENT_TRAITS}) for host in hosts}
    return [
        {
            "uuid": host.uuid,
            "name": host.name,
            "inventories": inventories[id(host.shape)],
            "traits": traits[id(host.shape)],
        }
        for host in hosts
    ]


def aggregates_of(
    hosts: Iterable[ReportedHost], metadata: Mapping[str, Mapping[str, str]]
) -> list[Aggregate]:
    """Return the aggregates with their hosts; each availability zone is one."""
    members: dict[str, list[str]] = {name: [] for name in metadata}
    zones: dict[str, list[str]] = {}
    for host in hosts:
        for name in host.shape.aggregates:
            members[name].append(host.name)
        if host.shape.zone is not None:
            zones.setdefault(host.shape.zone, []).append(host.name)
    known = {name: dict(values) for name, values in metadata.items()}
    known.update({zone: {"availability_zone": zone} for zone in zones})
    return [
        Aggregate.from_values(
            id=number, uuid=uuid_of("aggregate", name), name=name, metadata=known[name],
            hosts=names,
        )
        for number, (name, names) in enumerate({**members, **zones}.items(), start=1)
    ]  # fmt: skip


def _inventories(shape: HostShape) -> dict[str, dict[str, float]]:
    return {
        name: {
            "total": amount.total,
            "reserved": amount.reserved,
            "min_unit": 1,
            "max_unit": amount.total,
            "step_size": 1,
            "allocation_ratio": amount.ratio,
        }
        for name, amount in shape.amounts.items()
    }


_NOTHING = Amount(0)


def topology_of(shape: HostShape) -> HostTopology | None:
    """Return the topology of an empty host of a shape, None if it has none.

    Shared CPUs come first, then dedicated ones; reserved memory counts as used.
    """
    count = shape.numa_cells
    if not count:
        return None
    vcpus, pcpus, memory = (
        shape.amounts.get(name, _NOTHING) for name in ("VCPU", "PCPU", "MEMORY_MB")
    )
    cpus = itertools.count()
    shared = [_taken(cpus, part) for part in _parts(vcpus.total, count)]
    dedicated = [_taken(cpus, part) for part in _parts(pcpus.total, count)]
    sizes, kept = list(_parts(memory.total, count)), list(_parts(memory.reserved, count))
    return HostTopology(
        cells=tuple(
            HostCell(
                id=number,
                socket=number,
                cpus=shared[number],
                pcpus=dedicated[number],
                memory_mb=sizes[number],
                memory_mb_used=kept[number],
            )
            for number in range(count)
        ),
        cpu_allocation_ratio=vcpus.ratio,
        ram_allocation_ratio=memory.ratio,
    )


def _parts(total: int, count: int) -> Iterator[int]:
    """Yield ``count`` nearly equal parts; the first ones get the remainder."""
    part, rest = divmod(total, count)
    for number in range(count):
        yield part + (number < rest)


def _taken(cpus: Iterator[int], count: int) -> frozenset[int]:
    return frozenset(itertools.islice(cpus, count))
