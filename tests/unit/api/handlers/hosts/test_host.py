"""Hosts in the paths of early versions, and what later ones have instead."""

import time
from typing import Any

import pytest
from falcon import testing

from api.handlers.networks import network_proxy
from tests import builders
from tests.fixtures.http_api import Api, message
from tests.fixtures.super_conductor import SuperConductor


@pytest.fixture(autouse=True)
def stock(conductor: SuperConductor) -> None:
    conductor.services = [
        builders.a_service("host1"),
        builders.a_service("control", binary="armillary-conductor", availability_zone=None),
    ]
    conductor.nodes = [builders.a_compute_node(host) for host in ("host1", "host2")]
    conductor.servers = [builders.an_instance("web", host="host1", node=None)]


OLD = {"OpenStack-API-Version": "compute 2.1"}


def ask(api: Api, path: str, minor: int = 1, **query: Any) -> testing.Result:
    headers = {"OpenStack-API-Version": f"compute 2.{minor}"}
    return api.send("GET", f"/v2.1{path}", headers=headers, params=query)


def test_services_are_listed_by_host(api: Api) -> None:
    """With the zone that they are in."""
    control = {"host_name": "control", "service": "conductor", "zone": "internal"}
    host1 = {"host_name": "host1", "service": "compute", "zone": "nova"}
    assert ask(api, "/os-hosts").json == {"hosts": [host1, control]}
    assert ask(api, "/os-hosts", zone="").json["hosts"] == [host1, control]
    assert ask(api, "/os-hosts", zone="internal").json == {"hosts": [control]}


def test_a_host_shows_what_is_used_of_it(api: Api) -> None:
    """Of all its nodes; and what its servers have by their flavors, all and by project."""
    rows = [row["resource"] for row in ask(api, "/os-hosts/host1").json["host"]]
    total, used, used_max, own = rows
    assert (total["project"], total["cpu"], total["memory_mb"]) == ("(total)", 8, 16384)
    assert (used["project"], used["cpu"], used["memory_mb"]) == ("(used_now)", 4, 8192)
    for row, project in ((used_max, "(used_max)"), (own, "p1")):
        assert (row["project"], row["cpu"], row["memory_mb"]) == (project, 1, 512)
    assert ask(api, "/os-hosts/nothing").status_code == 404


@pytest.mark.parametrize(
    ("path", "last"),
    [
        ("/os-hosts", 42),
        ("/os-hosts/host1", 42),
        ("/os-hypervisors/host1/search", 52),
        ("/os-hypervisors/host1/servers", 52),
        ("/os-hypervisors/statistics", 87),
    ],
)
def test_later_versions_do_not_have_them(path: str, last: int, api: Api) -> None:
    """Other paths and placement have the same."""
    assert ask(api, path, last).status_code == 200
    assert ask(api, path, last + 1).status_code == 404


def test_hypervisors_are_found_by_a_part_of_their_name(api: Api) -> None:
    """With their servers, if they have some."""
    (found,) = ask(api, "/os-hypervisors/host2/search").json["hypervisors"]
    assert found["hypervisor_hostname"] == "host2.example.org"
    listed = ask(api, "/os-hypervisors/host/servers").json["hypervisors"]
    assert [[one["name"] for one in node.get("servers", [])] for node in listed] == [["web"], []]
    assert ask(api, "/os-hypervisors/nothing/search").status_code == 404


def test_a_host_is_disabled_and_enabled(api: Api) -> None:
    """Drivers do nothing else to hosts."""

    def put(host: str, **body: str) -> testing.Result:
        return api.send("PUT", f"/v2.1/os-hosts/{host}", headers=OLD, json=body)

    for wanted in ("disable", "enable"):
        assert put("host1", status=wanted).json == {"host": "host1", "status": f"{wanted}d"}
    assert put("host1", status="Sleep").status_code == 400
    assert put("host1").status_code == 400
    assert put("host1", maintenance_mode="enable").status_code == 501
    assert put("control", status="enable").status_code == 404
    assert ask(api, "/os-hosts/host1/reboot").status_code == 501
    assert ask(api, "/os-hosts/nothing/startup").status_code == 404


def test_no_host_makes_audits_of_usage(api: Api) -> None:
    """They are said not to have run."""
    path = "/os-instance_usage_audit_log"
    log = ask(api, path).json["instance_usage_audit_logs"]
    assert (log["hosts_not_run"], log["num_hosts_done"]) == (["host1"], 0)
    shown = ask(api, f"{path}/2030-01-31 12:00:00").json["instance_usage_audit_log"]
    assert shown["period_beginning"] == "2029-12-01 00:00:00"
    assert ask(api, f"{path}/yesterday").status_code == 400


def test_statistics_are_sums(api: Api) -> None:
    """Of all hypervisors."""
    sums = ask(api, "/os-hypervisors/statistics").json["hypervisor_statistics"]
    assert (sums["count"], sums["vcpus"], sums["vcpus_used"], sums["local_gb"]) == (2, 16, 8, 200)


def test_a_hypervisor_shows_its_uptime(api: Api, conductor: SuperConductor) -> None:
    """Since the start of its machine; one that is not known is said to be so."""
    path = "/os-hypervisors/host1.example.org/uptime"
    unknown = ask(api, path)
    assert unknown.status_code == 501
    assert "does not report its uptime" in message(unknown)
    booted_at = int(time.time()) - (2 * 24 + 3) * 3600 - 30
    for node in conductor.nodes:
        node.attributes = {**node.attributes, "booted_at": booted_at}
    shown = ask(api, path).json["hypervisor"]
    assert shown["hypervisor_hostname"] == "host1.example.org"
    assert shown["uptime"].endswith(" up 2 days,  3:00")


def test_extensions_are_listed_and_shown(api: Api) -> None:
    """By their alias."""
    listed = ask(api, "/extensions").json["extensions"]
    assert "os-services" in [one["alias"] for one in listed]
    assert {"SimpleTenantUsage", "DiskConfig", "Keypairs"} <= {one["name"] for one in listed}
    assert ask(api, "/extensions/os-hosts").json["extension"]["name"] == "Hosts"
    assert ask(api, "/extensions/os-nothing").status_code == 404


def test_defaults_are_those_of_a_class_of_quotas(api: Api) -> None:
    """There is one class only."""
    quotas = ask(api, "/os-quota-class-sets/default").json["quota_class_set"]
    assert (quotas["id"], quotas["cores"], quotas["fixed_ips"]) == ("default", 20, -1)


def test_other_services_attach_nothing(api: Api, conductor: SuperConductor) -> None:
    """Lists of it are empty, also of a host that did not say a valid address."""
    conductor.servers[0].host_ip = "none"
    server = f"/servers/{conductor.servers[0].uuid}"
    for name in ("os-interface", "os-volume_attachments", "ips"):
        (empty,) = ask(api, f"{server}/{name}").json.values()
        assert not empty
    assert ask(api, f"{server}/ips/private").status_code == 404
    assert ask(api, f"{server}/os-server-password").json == {"password": ""}
    assert api.delete(f"/v2.1{server}/os-server-password").status_code == 204


def test_a_server_has_the_addresses_that_its_host_found(
    api: Api, conductor: SuperConductor
) -> None:
    """Both on its only port, in place of its host's."""
    server = conductor.servers[0]
    server.host_ip, server.addresses = "192.0.2.1", ["10.1.2.3", "2001:db8::3"]
    (listed,) = ask(api, f"/servers/{server.uuid}").json["server"]["addresses"].values()
    assert [(each["version"], each["addr"]) for each in listed] == [
        (4, "10.1.2.3"), (6, "2001:db8::3"),
    ]  # fmt: skip
    (port,) = ask(api, f"/servers/{server.uuid}/os-interface").json["interfaceAttachments"]
    assert [each["ip_address"] for each in port["fixed_ips"]] == ["10.1.2.3", "2001:db8::3"]


def test_clients_without_a_network_service_find_the_default_security_group(
    api: Api, conductor: SuperConductor
) -> None:
    """By its name or id, until 2.35; networks there are none."""
    group = ask(api, "/os-security-groups").json["security_groups"][0]
    assert (group["name"], group["rules"]) == ("default", [])
    assert ask(api, f"/os-security-groups/{group['id']}").json == {"security_group": group}
    assert ask(api, "/os-security-groups/default").status_code == 404
    assert ask(api, "/os-networks").json == {"networks": []}
    assert ask(api, "/os-networks/private").status_code == 404
    headers = {"OpenStack-API-Version": "compute 2.36"}
    for path in ("/os-security-groups", "/os-networks"):
        assert api.send("GET", f"/v2.1{path}", headers=headers).status_code == 404


def test_the_default_security_group_of_a_server_is_there_for_good(
    api: Api, conductor: SuperConductor
) -> None:
    """It may be added once more; others there are none."""
    server = conductor.servers[0]
    path = f"/v2.1/servers/{server.uuid}"
    assert api.get(path).json["server"]["security_groups"] == [{"name": "default"}]
    group = network_proxy.group_of(server.project_id)
    for name in ("default", group["id"]):
        assert api.post(f"{path}/action", {"addSecurityGroup": {"name": name}}).status_code == 202
    for action in ("addSecurityGroup", "removeSecurityGroup"):
        unknown = api.post(f"{path}/action", {action: {"name": "web"}})
        assert unknown.status_code == 404
        assert "there is 'default' only" in message(unknown)
    refused = api.post(f"{path}/action", {"removeSecurityGroup": {"name": "default"}})
    assert refused.status_code == 400
    assert "without a network service" in message(refused)


def test_what_needs_another_service_is_refused_with_the_reason(
    api: Api, conductor: SuperConductor
) -> None:
    """Ports of a server are as they are; its only port is shown."""
    server = conductor.servers[0]
    server.host_ip = "192.0.2.1"
    path = f"/v2.1/servers/{server.uuid}"
    (port,) = api.get(f"{path}/os-interface").json["interfaceAttachments"]
    shown = api.get(f"{path}/os-interface/{port['port_id']}")
    assert shown.json == {"interfaceAttachment": port}
    assert api.get(f"{path}/os-interface/{server.uuid}").status_code == 404
    body = {"interfaceAttachment": {"net_id": port["net_id"]}}
    for refused in (
        api.post(f"{path}/os-interface", body),
        api.delete(f"{path}/os-interface/{port['port_id']}"),
    ):
        assert refused.status_code == 400
        assert "without a" in message(refused)


def test_a_server_has_the_address_of_its_host(api: Api, conductor: SuperConductor) -> None:
    """Its only port has it, too."""
    conductor.servers[0].host_ip = "2001:db8::7"
    server = f"/servers/{conductor.servers[0].uuid}"
    (address,) = ask(api, server).json["server"]["addresses"]["public"]
    mac = address.pop("OS-EXT-IPS-MAC:mac_addr")
    assert address == {"version": 6, "addr": "2001:db8::7", "OS-EXT-IPS:type": "fixed"}
    listed = {"public": [{"version": 6, "addr": "2001:db8::7"}]}
    assert ask(api, f"{server}/ips").json == {"addresses": listed}
    for version, count in (("2.74", 2), ("2.75", 4)):
        headers = {"OpenStack-API-Version": f"compute {version}"}
        put = api.send("PUT", f"/v2.1{server}", headers=headers, json={"server": {"name": "new"}})
        assert len(put.json["server"]["addresses"]["public"][0]) == count
    assert ask(api, f"{server}/ips/public").json == listed
    (port,) = ask(api, f"{server}/os-interface").json["interfaceAttachments"]
    assert (port["mac_addr"], port["fixed_ips"][0]["ip_address"]) == (mac, "2001:db8::7")


def test_unknown_parameters_have_no_effect_in_early_versions(api: Api) -> None:
    """Later ones refuse them."""
    assert ask(api, "/os-services", 74, xxx="1").status_code == 200
    assert ask(api, "/os-services", 75, xxx="1").status_code == 400
