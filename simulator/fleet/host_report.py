"""Reports of a simulated host's agent to its cell and to placement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.scenario.scenario import Amount, HostShape

_NOTHING = Amount(0)
_AS_USUAL: dict[str, Any] = {
    "hypervisor_type": "simulated",
    "hypervisor_version": 1_000_000,
    "host_ip": "192.0.2.1",
    "supported_instances": [["x86_64", "simulated", "hvm"]],
}
_AGENT_TRAITS = ("COMPUTE_NODE", "OWNER_NOVA")


def attributes_of(
    shape: HostShape, name: str, used: Mapping[str, int], instance_uuids: Sequence[str]
) -> dict[str, Any]:
    """Return the attributes derived from a host's shape and its usage."""
    vcpus, memory, disk = (
        shape.amounts.get(name, _NOTHING) for name in ("VCPU", "MEMORY_MB", "DISK_GB")
    )
    memory_used = memory.reserved + used.get("MEMORY_MB", 0)
    disk_used = disk.reserved + used.get("DISK_GB", 0)
    return {
        **_AS_USUAL,
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


def inventories_of(shape: HostShape) -> dict[str, dict[str, Any]]:
    """Return the inventories of a host of a shape by resource class."""
    return {name: _inventory(amount) for name, amount in shape.amounts.items()}


def traits_of(shape: HostShape) -> list[str]:
    """Return the traits of a host of a shape."""
    return sorted({*shape.traits, *_AGENT_TRAITS})


def _inventory(amount: Amount) -> dict[str, Any]:
    return {
        "total": amount.total,
        "reserved": amount.reserved,
        "min_unit": 1,
        "max_unit": amount.total,
        "step_size": 1,
        "allocation_ratio": amount.ratio,
    }
