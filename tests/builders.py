"""Things for tests: complete objects from the few values that a test is about."""

import uuid
from datetime import UTC, datetime
from typing import Any

from armillary.service_history import CURRENT_VERSION
from objects.aggregate import Aggregate
from objects.allocations.allocation import AllocationClaim
from objects.allocations.resource_query import RequestGroup, ResourceQuery
from objects.flavor import Flavor
from objects.hosts.compute_node import ComputeNode
from objects.hosts.service import Service
from objects.images.image_meta import ImageMeta
from objects.instance import Instance
from objects.instances.instance_action import InstanceAction, InstanceActionEvent
from objects.instances.instance_fault import InstanceFault
from objects.instances.instance_group import InstanceGroup
from objects.instances.migration import Migration

A_TIME = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)


def a_uuid() -> str:
    return str(uuid.uuid4())


def a_uuid_of(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


def a_flavor(name: str = "small", **values: Any) -> Flavor:
    """Return a flavor of one vCPU and 512 MiB."""
    defaults = {"flavorid": f"id-{name}", "vcpus": 1, "memory_mb": 512, "root_gb": 1}
    return Flavor.from_values({"name": name, **defaults, **values})


def an_image(name: str = "loop", **values: Any) -> ImageMeta:
    return ImageMeta.from_values({"id": a_uuid(), "name": name, "created_at": A_TIME, **values})


def an_instance(name: str = "web", **values: Any) -> Instance:
    """Return an active instance of project p1 on host1."""
    defaults = {
        "uuid": a_uuid(),
        "project_id": "p1",
        "user_id": "u1",
        "reservation_id": "r-1",
        "flavor": a_flavor(),
        "vm_state": "active",
        "power_state": "running",
        "attempt": 1,
        "host": "host1",
        "node": "node1",
        "availability_zone": "nova",
        "created_at": A_TIME,
        "launched_at": A_TIME,
    }
    return Instance.from_values({"name": name, **defaults, **values})


def a_fault(instance_uuid: str, **values: Any) -> InstanceFault:
    """Return the fault of a first attempt on host1."""
    defaults = {
        "attempt": 1,
        "host": "host1",
        "message": "The build failed.",
        "details": "host1: no space left on device",
        "created_at": A_TIME,
    }
    return InstanceFault.from_values({"instance_uuid": instance_uuid, **defaults, **values})


def an_action(instance_uuid: str, **values: Any) -> InstanceAction:
    """Return a create action with the event of its first attempt."""
    event = InstanceActionEvent.from_values(
        event="compute_build", host="host1", attempt=1, start_time=A_TIME, result="Error",
        details="host1: no space left on device",
    )  # fmt: skip
    defaults = {
        "action": "create",
        "request_id": f"req-{a_uuid()}",
        "project_id": "p1",
        "user_id": "u1",
        "start_time": A_TIME,
        "events": [event],
    }
    return InstanceAction.from_values({"instance_uuid": instance_uuid, **defaults, **values})


def a_migration(instance_uuid: str, **values: Any) -> Migration:
    """Return a live migration from host1 to host2 that has copied a quarter."""
    defaults = {
        "uuid": a_uuid(),
        "migration_type": "live-migration",
        "status": "running",
        "source_host": "host1",
        "source_node": "host1.example.org",
        "dest_host": "host2",
        "dest_node": "host2.example.org",
        "old_flavor": None,
        "new_flavor": None,
        "memory_total_mb": 512,
        "memory_remaining_mb": 384,
        "request_id": "req-1",
        "project_id": "p1",
        "user_id": "u1",
        "cell_uuid": a_uuid(),
        "created_at": A_TIME,
        "updated_at": A_TIME,
    }
    return Migration.from_values(**{"instance_uuid": instance_uuid, **defaults, **values})


def a_service(host: str = "host1", **values: Any) -> Service:
    defaults = {
        "uuid": a_uuid(),
        "binary": "armillary-compute",
        "agent": host,
        "cell_uuid": a_uuid(),
        "version": CURRENT_VERSION,
        "last_seen_up": A_TIME,
        "up": True,
        "availability_zone": "nova",
    }
    return Service.from_values({"host": host, **defaults, **values})


def a_compute_node(host: str = "host1", **values: Any) -> ComputeNode:
    """Return a node of 8 vCPUs, 16 GiB of memory and 100 GiB of disk, half used."""
    attributes = {
        "vcpus_total": 8,
        "vcpus_used": 4,
        "total_usable_ram_mb": 16384,
        "free_ram_mb": 8192,
        "total_usable_disk_gb": 100,
        "free_disk_mb": 51200,
        "disk_mb_used": 51200,
        "hypervisor_type": "simulated",
        "hypervisor_version": 1000000,
        "host_ip": "192.0.2.1",
        "cpu_info": '{"arch": "x86_64"}',
    }
    defaults = {"uuid": a_uuid(), "node": f"{host}.example.org", "attributes": attributes}
    return ComputeNode.from_values({"host": host, **defaults, **values})


def an_aggregate(name: str = "ssd", **values: Any) -> Aggregate:
    defaults = {"id": 1, "uuid": a_uuid(), "created_at": A_TIME}
    return Aggregate.from_values({"name": name, **defaults, **values})


def an_instance_group(name: str = "apart", **values: Any) -> InstanceGroup:
    """Return a server group of project p1 whose members want to be apart."""
    defaults = {"uuid": a_uuid(), "project_id": "p1", "user_id": "u1", "policy": "anti-affinity"}
    return InstanceGroup.from_values({"name": name, **defaults, **values})


def a_provider(name: str = "host1", **values: Any) -> Any:
    """Return the report of a provider of 8 vCPUs, as ``PlacementAPI.set_providers`` takes it."""
    inventories = {"VCPU": {"total": 8, "allocation_ratio": 1.0}}
    defaults = {"uuid": a_uuid(), "inventories": inventories, "traits": []}
    return {"name": name, **defaults, **values}


def a_claim(provider_uuid: str, vcpus: int = 1, **values: Any) -> AllocationClaim:
    """Return a new consumer's claim of vCPUs on a provider."""
    defaults = {
        "consumer_uuid": a_uuid(),
        "project_id": "p1",
        "user_id": "u1",
        "allocations": {provider_uuid: {"resources": {"VCPU": vcpus}}},
    }
    return AllocationClaim(**{**defaults, **values})


def a_query(*, limit: int | None = None, **group: Any) -> ResourceQuery:
    """Return a question for one vCPU, or for what the group says."""
    made = RequestGroup.from_values({"resources": {"VCPU": 1}, **group})
    return ResourceQuery.from_values(groups=[made], limit=limit)
