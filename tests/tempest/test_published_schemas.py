"""Answers of every version, held against the schemas that Tempest's clients expect of it."""

import functools
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from api.formats.addresses import port_id
from objects.instances.diagnostics import Diagnostics
from objects.instances.server_settings import ServerSettings
from tests import builders
from tests.fixtures.http_api import Api
from tests.fixtures.super_conductor import SuperConductor
from tests.tempest.test_quick_tests import programs
from tests.unit.api.conftest import api, client, conductor, conf, lasting_api
from tests.unit.api.handlers.servers.test_key_pair import KEY
from tests.unit.api.versions.test_versions_of_answers import SERVER, SERVER_ID, stock

__all__ = ["api", "client", "conductor", "conf", "lasting_api", "programs", "stock"]

READER = Path(__file__).parent / "read_schemas.py"
NEWEST = 96
FORMATS = jsonschema.FormatChecker(("ipv4", "ipv6"))
GROUP = "/os-server-groups"
ACTION = f"{SERVER}/action"
ACTIONS = f"{SERVER}/os-instance-actions"
FLAVOR = "/flavors/id-small"
SPECS = f"{FLAVOR}/os-extra_specs"
SERVICE = {"host": "host1", "binary": "nova-compute"}
LIVE = {"host": None, "block_migration": False}
Request = tuple[str, str, Any, str, str, tuple[int, int]]
ALWAYS = (1, NEWEST)

# Method, path, body; client, its schema; first and last minor version that has the request.
REQUESTS: list[Request] = [
    ("GET", "/servers", None, "ServersClient", "list_servers", ALWAYS),
    ("GET", "/servers?limit=1", None, "ServersClient", "list_servers", ALWAYS),
    ("GET", "/servers/detail", None, "ServersClient", "list_servers_detail", ALWAYS),
    ("GET", SERVER, None, "ServersClient", "get_server", ALWAYS),
    ("PUT", SERVER, {"server": {"name": "other"}}, "ServersClient", "update_server", ALWAYS),
    ("POST", "/servers", {"server": {"name": "a", "flavorRef": "id-small", "imageRef": "{image}",
                                     "networks": []}},
     "ServersClient", "create_server_with_admin_pass", ALWAYS),
    ("DELETE", SERVER, None, "ServersClient", "delete_server", ALWAYS),
    ("GET", f"{SERVER}/ips", None, "ServersClient", "list_addresses", ALWAYS),
    ("GET", f"{SERVER}/ips/public", None, "ServersClient", "list_addresses_by_network", ALWAYS),
    ("GET", f"{SERVER}/metadata", None, "ServersClient", "list_server_metadata", ALWAYS),
    ("POST", f"{SERVER}/metadata", {"metadata": {"a": "b"}}, "ServersClient",
     "update_server_metadata", ALWAYS),
    ("PUT", f"{SERVER}/metadata", {"metadata": {"a": "b"}}, "ServersClient",
     "set_server_metadata", ALWAYS),
    ("PUT", f"{SERVER}/metadata/a", {"meta": {"a": "b"}}, "ServersClient",
     "set_show_server_metadata_item", ALWAYS),
    ("DELETE", f"{SERVER}/metadata/role", None, "ServersClient", "delete_server_metadata_item",
     ALWAYS),
    ("GET", f"{SERVER}/tags", None, "ServersClient", "list_tags", (26, NEWEST)),
    ("PUT", f"{SERVER}/tags", {"tags": ["a"]}, "ServersClient", "update_all_tags", (26, NEWEST)),
    ("PUT", f"{SERVER}/tags/new", None, "ServersClient", "update_tag", (26, NEWEST)),
    ("GET", f"{SERVER}/tags/old", None, "ServersClient", "check_tag_existence", (26, NEWEST)),
    ("DELETE", f"{SERVER}/tags/old", None, "ServersClient", "delete_tag", (26, NEWEST)),
    ("DELETE", f"{SERVER}/tags", None, "ServersClient", "delete_all_tags", (26, NEWEST)),
    ("GET", ACTIONS, None, "ServersClient", "list_instance_actions", ALWAYS),
    ("GET", f"{ACTIONS}/req-1", None, "ServersClient", "show_instance_action", ALWAYS),
    ("GET", f"{SERVER}/diagnostics", None, "ServersClient", "show_server_diagnostics", ALWAYS),
    # Tempest's schema has the UUID since 2.62, the Compute API since 2.59.
    ("GET", f"{SERVER}/migrations", None, "ServersClient", "list_live_migrations", (23, 58)),
    ("GET", f"{SERVER}/migrations", None, "ServersClient", "list_live_migrations", (62, NEWEST)),
    ("GET", f"{SERVER}/os-volume_attachments", None, "ServersClient", "list_volume_attachments",
     ALWAYS),
    ("GET", f"{SERVER}/os-volume_attachments/{{volume}}", None, "ServersClient",
     "show_volume_attachment", ALWAYS),
    ("GET", f"{SERVER}/os-server-password", None, "ServersClient", "show_password", ALWAYS),
    ("DELETE", f"{SERVER}/os-server-password", None, "ServersClient",
     "server_actions_delete_password", ALWAYS),
    ("GET", f"{SERVER}/os-security-groups", None, "security_groups", "list_security_groups",
     ALWAYS),
    ("POST", ACTION, {"rebuild": {"imageRef": "{image}"}}, "ServersClient",
     "rebuild_server_with_admin_pass", ALWAYS),
    ("POST", ACTION, {"evacuate": {"onSharedStorage": False}}, "ServersClient",
     "evacuate_server_with_admin_pass", (1, 13)),
    ("POST", ACTION, {"evacuate": {}}, "ServersClient", "evacuate_server", (14, NEWEST)),
    ("POST", ACTION, {"rescue": None}, "ServersClient", "rescue_server_with_admin_pass", ALWAYS),
    ("POST", ACTION, {"resize": {"flavorRef": "id-small"}}, "ServersClient",
     "server_actions_common_schema", ALWAYS),
    ("POST", ACTION, {"confirmResize": None}, "ServersClient", "server_actions_confirm_resize",
     ALWAYS),
    ("POST", ACTION, {"os-migrateLive": {**LIVE, "disk_over_commit": False}}, "ServersClient",
     "server_actions_common_schema", (1, 24)),
    ("POST", ACTION, {"os-migrateLive": LIVE}, "ServersClient", "server_actions_common_schema",
     (25, NEWEST)),
    *(("POST", ACTION, {name: None}, "ServersClient", "server_actions_common_schema", ALWAYS)
      for name in ("os-start", "os-stop", "pause", "unpause", "suspend", "resume", "lock",
                   "unlock", "shelve", "shelveOffload", "unshelve", "migrate", "revertResize",
                   "forceDelete", "restore", "unrescue")),
    ("POST", ACTION, {"reboot": {"type": "HARD"}}, "ServersClient",
     "server_actions_common_schema", ALWAYS),
    ("POST", ACTION, {"os-resetState": {"state": "error"}}, "ServersClient",
     "server_actions_common_schema", ALWAYS),
    ("POST", ACTION, {"changePassword": {"adminPass": "a"}}, "ServersClient",
     "server_actions_common_schema", ALWAYS),
    ("POST", ACTION, {"addSecurityGroup": {"name": "default"}}, "ServersClient",
     "server_actions_common_schema", ALWAYS),
    ("POST", ACTION, {"createImage": {"name": "a"}}, "ImagesClient", "create_image", ALWAYS),
    ("POST", ACTION, {"createBackup": {"name": "b", "backup_type": "daily", "rotation": 1}},
     "ServersClient", "create_backup", ALWAYS),
    ("POST", ACTION, {"os-getConsoleOutput": {}}, "ServersClient", "get_console_output", ALWAYS),
    ("GET", f"{SERVER}/os-interface", None, "InterfacesClient", "list_interfaces", ALWAYS),
    ("GET", f"{SERVER}/os-interface/{{port}}", None, "InterfacesClient", "get_create_interfaces",
     ALWAYS),
    ("GET", "/os-migrations", None, "MigrationsClient", "list_migrations", ALWAYS),
    ("GET", "/flavors", None, "FlavorsClient", "list_flavors", ALWAYS),
    ("GET", "/flavors/detail", None, "FlavorsClient", "list_flavors_details", ALWAYS),
    ("GET", FLAVOR, None, "FlavorsClient", "create_update_get_flavor_details", ALWAYS),
    ("POST", "/flavors", {"flavor": {"name": "{new}", "ram": 1, "vcpus": 1, "disk": 1}},
     "FlavorsClient", "create_update_get_flavor_details", ALWAYS),
    ("PUT", FLAVOR, {"flavor": {"description": "a"}}, "FlavorsClient",
     "create_update_get_flavor_details", (55, NEWEST)),
    ("DELETE", FLAVOR, None, "FlavorsClient", "delete_flavor", ALWAYS),
    ("GET", SPECS, None, "flavors_extra_specs", "set_get_flavor_extra_specs", ALWAYS),
    ("POST", SPECS, {"extra_specs": {"a": "b"}}, "flavors_extra_specs",
     "set_get_flavor_extra_specs", ALWAYS),
    ("PUT", f"{SPECS}/a", {"a": "b"}, "flavors_extra_specs", "set_get_flavor_extra_specs_key",
     ALWAYS),
    ("GET", f"{SPECS}/rack", None, "flavors_extra_specs", "set_get_flavor_extra_specs_key",
     ALWAYS),
    ("DELETE", f"{SPECS}/rack", None, "flavors_extra_specs", "unset_flavor_extra_specs", ALWAYS),
    ("POST", "/flavors/id-private/action", {"addTenantAccess": {"tenant": "{new}"}},
     "flavors_access", "add_remove_list_flavor_access", ALWAYS),
    ("GET", "/flavors/id-private/os-flavor-access", None, "flavors_access",
     "add_remove_list_flavor_access", ALWAYS),
    ("GET", "/images", None, "ImagesClient", "list_images", (1, 35)),
    ("GET", "/images/detail", None, "ImagesClient", "list_images_details", (1, 35)),
    ("GET", "/images/{image}", None, "ImagesClient", "get_image", (1, 35)),
    ("DELETE", "/images/{image}", None, "ImagesClient", "delete", (1, 35)),
    ("GET", "/images/{image}/metadata", None, "ImagesClient", "image_metadata", (1, 38)),
    ("GET", "/os-keypairs", None, "KeyPairsClient", "list_keypairs", ALWAYS),
    ("GET", "/os-keypairs/key", None, "KeyPairsClient", "get_keypair", ALWAYS),
    ("POST", "/os-keypairs", {"keypair": {"name": "{new}", "public_key": KEY}},
     "KeyPairsClient", "create_keypair", ALWAYS),
    ("POST", "/os-keypairs", {"keypair": {"name": "{new}"}}, "KeyPairsClient", "create_keypair",
     (1, 91)),
    ("DELETE", "/os-keypairs/key", None, "KeyPairsClient", "delete_keypair", ALWAYS),
    ("GET", "/os-aggregates", None, "AggregatesClient", "list_aggregates", ALWAYS),
    ("GET", "/os-aggregates/1", None, "AggregatesClient", "get_aggregate", ALWAYS),
    ("POST", "/os-aggregates", {"aggregate": {"name": "{new}"}}, "AggregatesClient",
     "create_aggregate", ALWAYS),
    ("PUT", "/os-aggregates/1", {"aggregate": {"name": "{new}"}}, "AggregatesClient",
     "update_aggregate", ALWAYS),
    ("POST", "/os-aggregates/1/action", {"add_host": {"host": "host1"}}, "AggregatesClient",
     "aggregate_add_remove_host", ALWAYS),
    ("POST", "/os-aggregates/1/action", {"set_metadata": {"metadata": {"a": "b"}}},
     "AggregatesClient", "aggregate_set_metadata", ALWAYS),
    ("DELETE", "/os-aggregates/1", None, "AggregatesClient", "delete_aggregate", ALWAYS),
    ("GET", "/os-hypervisors", None, "HypervisorClient", "list_search_hypervisors", ALWAYS),
    ("GET", "/os-hypervisors?with_servers=true", None, "HypervisorClient",
     "list_search_hypervisors", (53, NEWEST)),
    ("GET", "/os-hypervisors/detail", None, "HypervisorClient", "list_hypervisors_detail",
     (1, 87)),
    ("GET", "/os-hypervisors/{node}", None, "HypervisorClient", "get_hypervisor", (1, 87)),
    ("GET", "/os-hypervisors/host1/search", None, "HypervisorClient", "list_search_hypervisors",
     (1, 52)),
    ("GET", "/os-hypervisors/host1/servers", None, "HypervisorClient",
     "get_hypervisors_servers", (1, 52)),
    ("GET", "/os-hypervisors/statistics", None, "HypervisorClient", "get_hypervisor_statistics",
     (1, 87)),
    ("GET", "/os-services", None, "ServicesClient", "list_services", ALWAYS),
    ("PUT", "/os-services/{service}", {"status": "disabled"}, "ServicesClient", "update_service",
     (53, NEWEST)),
    ("PUT", "/os-services/enable", SERVICE, "ServicesClient", "enable_disable_service", (1, 52)),
    ("PUT", "/os-services/disable", SERVICE, "ServicesClient", "enable_disable_service", (1, 52)),
    ("PUT", "/os-services/disable-log-reason", {**SERVICE, "disabled_reason": "r"},
     "ServicesClient", "disable_log_reason", (1, 52)),
    ("PUT", "/os-services/force-down", {**SERVICE, "forced_down": True}, "ServicesClient",
     "update_forced_down", (11, 52)),
    ("GET", "/os-availability-zone", None, "availability_zone", "list_availability_zone_list",
     ALWAYS),
    ("GET", "/os-availability-zone/detail", None, "availability_zone",
     "list_availability_zone_list_detail", ALWAYS),
    ("GET", "/os-hosts", None, "hosts", "list_hosts", (1, 42)),
    ("GET", "/os-hosts/host1", None, "hosts", "get_host_detail", (1, 42)),
    ("PUT", "/os-hosts/host1", {"status": "disable"}, "hosts", "update_host", (1, 42)),
    ("POST", GROUP, {"server_group": {"name": "g", "policies": ["affinity"]}},
     "ServerGroupsClient", "create_show_server_group", (1, 63)),
    ("POST", GROUP, {"server_group": {"name": "g", "policy": "anti-affinity",
                                      "rules": {"max_server_per_host": 2}}},
     "ServerGroupsClient", "create_show_server_group", (64, NEWEST)),
    ("GET", GROUP, None, "ServerGroupsClient", "list_server_groups", ALWAYS),
    ("GET", f"{GROUP}/{{group}}", None, "ServerGroupsClient", "create_show_server_group", ALWAYS),
    ("DELETE", f"{GROUP}/{{group}}", None, "ServerGroupsClient", "delete_server_group", ALWAYS),
    ("GET", "/os-quota-sets/p1", None, "QuotasClient", "get_quota_set", ALWAYS),
    ("GET", "/os-quota-sets/p1/defaults", None, "QuotasClient", "get_quota_set", ALWAYS),
    ("GET", "/os-quota-sets/p1/detail", None, "QuotasClient", "get_quota_set_details", ALWAYS),
    ("PUT", "/os-quota-sets/p1", {"quota_set": {"cores": 5}}, "QuotasClient", "update_quota_set",
     ALWAYS),
    ("DELETE", "/os-quota-sets/p1", None, "QuotasClient", "delete_quota", ALWAYS),
    ("GET", "/os-quota-class-sets/default", None, "QuotaClassesClient", "get_quota_class_set",
     ALWAYS),
    ("PUT", "/os-quota-class-sets/default", {"quota_class_set": {"cores": 5}},
     "QuotaClassesClient", "update_quota_class_set", ALWAYS),
    ("GET", "/limits", None, "LimitsClient", "get_limit", ALWAYS),
    ("GET", "/os-simple-tenant-usage?detailed=1", None, "tenant_usages", "list_tenant_usage",
     (1, 39)),
    ("GET", "/os-simple-tenant-usage/admin", None, "tenant_usages", "get_tenant_usage", (1, 39)),
    ("POST", "/os-server-external-events",
     {"events": [{"name": "network-changed", "server_uuid": SERVER_ID}]},
     "server_external_events", "create", ALWAYS),
    ("GET", "/os-instance_usage_audit_log", None, "instance_usage_audit_logs",
     "list_instance_usage_audit_log", ALWAYS),
    ("GET", "/os-instance_usage_audit_log/2030-01-01", None, "instance_usage_audit_logs",
     "get_instance_usage_audit_log", ALWAYS),
    ("GET", "/extensions", None, "extensions", "list_extensions", ALWAYS),
    ("GET", "/os-security-groups", None, "security_groups", "list_security_groups", (1, 35)),
    ("GET", "/os-floating-ips", None, "floating_ips", "list_floating_ips", (1, 35)),
]  # fmt: skip


@functools.cache
def published(python: Path) -> dict[str, Any]:
    """Return Tempest's schemas by client, each with the versions that it is for."""
    read = subprocess.run([str(python), str(READER)], stdout=subprocess.PIPE, check=True)
    return dict(json.loads(read.stdout))


def minor_of(version: str | None, default: int) -> int:
    return default if version is None else int(version.partition(".")[2])


def expected(client: str, name: str, span: tuple[int, int], python: Path) -> Iterator[Any]:
    """Yield minor versions, the first and the last of each schema of a client, with the schema.

    One that its later versions do not have is that of the first.
    """
    ranges = published(python)[client]
    for one in ranges:
        first = max(minor_of(one["min"], 1), span[0])
        last = min(minor_of(one["max"], NEWEST), span[1])
        for minor in sorted({first, last}) if first <= last else ():
            yield minor, one["schemas"].get(name) or ranges[0]["schemas"][name]


def have_all(conductor: SuperConductor, *, has_volume: bool) -> dict[str, str]:
    """Make what the requests are about; return the names of it."""
    small = builders.a_flavor("small", extra_specs={"rack": "1"})
    conductor.flavors = [small, builders.a_flavor("private", is_public=False)]
    conductor.aggregates = [builders.an_aggregate(hosts=[], updated_at=builders.A_TIME)]
    (image,) = conductor.images = [builders.an_image("loop")]
    conductor.diagnostics = Diagnostics("libvirt", "running")
    volume = builders.a_uuid()
    settings = ServerSettings.from_values(root_volume=volume if has_volume else None, tags=["old"])
    server = builders.an_instance(
        uuid=SERVER_ID, image=image, host_ip="192.0.2.1", metadata={"role": "web"},
        settings=settings, project_id="admin",
    )  # fmt: skip
    conductor.servers = [server]
    (group,) = conductor.groups = [builders.an_instance_group(project_id="admin")]
    return {
        "{image}": image.id, "{volume}": volume, "{port}": port_id(server), "{group}": group.uuid,
        "{node}": conductor.nodes[0].uuid, "{service}": conductor.services[0].uuid,
    }  # fmt: skip


def filled(value: Any, names: dict[str, str]) -> Any:
    """Return a path or a body with the names of things instead of their placeholders."""
    if isinstance(value, dict):
        return {name: filled(part, names) for name, part in value.items()}
    if isinstance(value, list):
        return [filled(part, names) for part in value]
    if isinstance(value, str):
        for placeholder, name in names.items():
            value = value.replace(placeholder, name)
    return value


@pytest.mark.parametrize(
    ("method", "path", "body", "name", "schema_name", "span"),
    REQUESTS,
    ids=[f"{one[0]} {one[1]} {one[4]} {one[5]}" for one in REQUESTS],
)
def test_an_answer_is_what_tempest_expects_of_its_version(
    method: str, path: str, body: Any, name: str, schema_name: str, span: tuple[int, int],
    programs: Path, api: Api, conductor: SuperConductor,
) -> None:  # fmt: skip
    """Status and body."""
    for minor, schema in expected(name, schema_name, span, programs / "python"):
        made = have_all(conductor, has_volume="volume" in path)
        names = {**made, "{new}": f"new-{minor}"}
        headers = {"OpenStack-API-Version": f"compute 2.{minor}"}
        if "/os-keypairs/" in path:
            key = {"keypair": {"name": "key", "public_key": KEY}}
            api.send("POST", "/v2.1/os-keypairs", headers=headers, json=key)
        place = filled(path, names)
        answer = api.send(method, f"/v2.1{place}", headers=headers, json=filled(body, names))
        assert answer.status_code in schema["status_code"], (minor, answer.text)
        if "response_body" in schema:
            document = json.loads(answer.text)
            validator = jsonschema.Draft4Validator(schema["response_body"], format_checker=FORMATS)
            validator.validate(document)
