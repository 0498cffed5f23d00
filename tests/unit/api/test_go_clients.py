"""Types of answers that gophercloud decodes, and Terraform's provider with it.

Of each kind those fields are listed that have a type in Go's structures; null is taken for any.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from objects.instances.server_settings import ServerSettings
from tests import builders
from tests.fixtures.http_api import Api
from tests.fixtures.super_conductor import SuperConductor

VERSIONS = ("2.1", "2.37", "2.52", "2.64", "2.74", "2.96")
"""Those that Terraform's provider asks for, and the last one."""

RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
WITHOUT_ZONE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?")

SERVER: dict[str, Any] = {
    **dict.fromkeys(
        ("id", "tenant_id", "user_id", "name", "hostId", "status", "accessIPv4", "accessIPv6",
         "key_name", "OS-DCF:diskConfig", "OS-EXT-AZ:availability_zone", "OS-EXT-STS:task_state",
         "OS-EXT-STS:vm_state", "OS-EXT-SRV-ATTR:host", "OS-EXT-SRV-ATTR:instance_name",
         "OS-EXT-SRV-ATTR:hypervisor_hostname", "OS-EXT-SRV-ATTR:hostname", "config_drive"),
        str,
    ),
    "progress": int, "OS-EXT-STS:power_state": int, "flavor": dict, "addresses": dict,
    "metadata": dict, "links": list, "security_groups": list, "tags": list, "server_groups": list,
    "os-extended-volumes:volumes_attached": list, "locked": bool, "created": RFC3339,
    "updated": RFC3339, "OS-SRV-USG:launched_at": WITHOUT_ZONE,
    "OS-SRV-USG:terminated_at": WITHOUT_ZONE,
}  # fmt: skip
FLAVOR: dict[str, Any] = {
    "id": str, "name": str, "disk": int, "ram": int, "vcpus": int, "rxtx_factor": (int, float),
    "os-flavor-access:is_public": bool, "OS-FLV-EXT-DATA:ephemeral": int, "swap": (int, str),
    "description": str, "extra_specs": dict,
}  # fmt: skip
GROUP: dict[str, Any] = {
    "id": str, "name": str, "policies": list, "policy": str, "rules": dict, "members": list,
    "metadata": dict, "project_id": str, "user_id": str,
}  # fmt: skip
HYPERVISOR: dict[str, Any] = {
    "id": (int, str), "hypervisor_hostname": str, "status": str, "state": str, "host_ip": str,
    "hypervisor_type": str, "hypervisor_version": int, "vcpus": int, "vcpus_used": int,
    "memory_mb": int, "memory_mb_used": int, "local_gb": int, "local_gb_used": int,
    "free_disk_gb": int, "free_ram_mb": int, "running_vms": int, "current_workload": int,
    "disk_available_least": int, "service": dict, "cpu_info": (str, dict), "uptime": str,
}  # fmt: skip
KINDS = {
    "/servers/detail": ("servers", SERVER),
    "/flavors/detail": ("flavors", FLAVOR),
    "/os-server-groups": ("server_groups", GROUP),
    "/os-hypervisors/detail": ("hypervisors", HYPERVISOR),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("path", KINDS)
def test_go_decodes_a_list(path: str, version: str, api: Api, conductor: SuperConductor) -> None:
    """Each field that is there has its type, or is null."""
    settings = ServerSettings.from_values(tags=["a"], root_volume=builders.a_uuid())
    conductor.flavors = [builders.a_flavor("small")]
    conductor.services = [builders.a_service("host1")]
    conductor.nodes = [builders.a_compute_node("host1")]
    conductor.groups = [builders.an_instance_group()]
    conductor.servers = [
        builders.an_instance("web", host_ip="192.0.2.7", settings=settings),
        builders.an_instance("bare", host=None, node=None, power_state=None, launched_at=None),
    ]
    name, types = KINDS[path]
    query = "all_tenants=1" if path.startswith("/servers") else ""
    if path.startswith("/os-server-groups"):
        query = "all_projects=1"
    headers = {"OpenStack-API-Version": f"compute {version}"}
    items = api.send("GET", f"/v2.1{path}", headers=headers, query_string=query).json[name]
    assert items
    for item in items:
        wrong = {key: value for key, value in item.items() if not fits(value, types.get(key))}
        assert wrong == {}
    if path.startswith("/servers"):
        assert all(item["image"] == "" or isinstance(item["image"], dict) for item in items)


def fits(value: Any, kind: Any) -> bool:
    """Return whether Go can decode a value; one without a declared type is left alone."""
    if value is None or kind is None:
        return True
    if isinstance(kind, re.Pattern):
        return isinstance(value, str) and kind.fullmatch(value) is not None
    is_flag = isinstance(value, bool)
    return is_flag if kind is bool else isinstance(value, kind) and not is_flag
