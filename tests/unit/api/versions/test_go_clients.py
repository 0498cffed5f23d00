"""Answers as gophercloud decodes them, and Terraform's provider with it."""

from typing import Any

import pytest

from objects.hosts.host_answers import AvailabilityZone, HostAvailability
from objects.instances.server_settings import ServerSettings
from tests import builders
from tests.fixtures.checks import go_types
from tests.fixtures.http_api import Api
from tests.fixtures.super_conductor import SuperConductor

VERSIONS = ("2.1", "2.37", "2.52", "2.64", "2.74", "2.90", "2.96")
"""Those that Terraform's provider asks for, and the last one."""

LISTS: dict[str, tuple[str, dict[str, Any]]] = {
    "/servers/detail?all_tenants=1": ("servers", go_types.SERVER),
    "/flavors/detail": ("flavors", go_types.FLAVOR),
    "/os-server-groups?all_projects=1": ("server_groups", go_types.GROUP),
    "/os-hypervisors/detail": ("hypervisors", go_types.HYPERVISOR),
    "/os-hypervisors?with_servers=true": ("hypervisors", go_types.HYPERVISOR),
    "/os-aggregates": ("aggregates", go_types.AGGREGATE),
    "/os-services": ("services", go_types.SERVICE),
    "/os-availability-zone/detail": ("availabilityZoneInfo", go_types.ZONE),
    "/os-simple-tenant-usage?detailed=1": ("tenant_usages", go_types.USAGE),
    "/os-keypairs": ("keypairs", go_types.KEY_PAIR),
    "/servers/{server}/os-instance-actions": ("instanceActions", go_types.ACTION),
}
OBJECTS: dict[str, tuple[str, dict[str, Any]]] = {
    "/os-quota-sets/p1": ("quota_set", go_types.QUOTAS),
    "/os-quota-sets/p1/defaults": ("quota_set", go_types.QUOTAS),
    "/os-quota-sets/p1/detail": ("quota_set", go_types.QUOTAS_IN_USE),
    "/limits": ("limits", go_types.LIMITS),
}


@pytest.fixture
def cloud(api: Api, conductor: SuperConductor) -> Api:
    """Return the API of a cloud that has something of each kind."""
    settings = ServerSettings.from_values(tags=["a"], root_volume=builders.a_uuid())
    conductor.flavors = [builders.a_flavor("small", extra_specs={"a": "b"})]
    conductor.services = [
        builders.a_service("host1"),
        builders.a_service("host2", up=False, disabled=True, last_seen_up=None),
    ]
    conductor.nodes = [builders.a_compute_node("host1")]
    host = HostAvailability(up=True, disabled=False, last_seen_up=builders.A_TIME)
    conductor.zones = [AvailabilityZone("north", {"host1": host}), AvailabilityZone("south", {})]
    conductor.groups = [builders.an_instance_group()]
    conductor.aggregates = [
        builders.an_aggregate("ssd", hosts=["host1"], metadata={"ssd": "true"}),
        builders.an_aggregate("zone", id=2, metadata={"availability_zone": "north"}),
    ]
    conductor.servers = [
        builders.an_instance("web", host_ip="192.0.2.7", settings=settings),
        builders.an_instance("bare", host=None, node=None, power_state=None, launched_at=None),
    ]
    conductor.actions = [builders.an_action(conductor.servers[0].uuid)]
    headers = {"OpenStack-API-Version": "compute 2.2"}  # the newest makes no keys
    made = api.send("POST", "/v2.1/os-keypairs", headers=headers, json={"keypair": {"name": "key"}})
    assert made.status_code == 201
    return api


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("path", LISTS)
def test_go_decodes_a_list(path: str, version: str, cloud: Api, conductor: SuperConductor) -> None:
    """Each field that is there has its type, or is null."""
    name, kind = LISTS[path]
    items = get(cloud, path.format(server=conductor.servers[0].uuid), version)[name]
    assert items
    assert go_types.misfits(items, [kind]) == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("path", OBJECTS)
def test_go_decodes_an_object(path: str, version: str, cloud: Api) -> None:
    """Quotas and limits are numbers."""
    name, kind = OBJECTS[path]
    assert go_types.misfits(get(cloud, path, version)[name], kind) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_without_an_image_has_an_empty_text(version: str, cloud: Api) -> None:
    """Go takes an object or that."""
    for server in get(cloud, "/servers/detail?all_tenants=1", version)["servers"]:
        assert server["image"] == "" or isinstance(server["image"], dict)


def get(api: Api, path: str, version: str) -> Any:
    """Return an answer to a version that stock clients send."""
    path, _, query = path.partition("?")
    headers = {"OpenStack-API-Version": f"compute {version}"}
    answer = api.send("GET", f"/v2.1{path}", headers=headers, query_string=query)
    assert answer.status_code == 200
    return answer.json
