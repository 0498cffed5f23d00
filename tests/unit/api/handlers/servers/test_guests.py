"""Diagnostics, remote consoles and external events of servers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from oslo_config import cfg

from armillary.consoles import console_links
from objects.instance import Instance
from objects.instances.diagnostics import Diagnostics, DiskDiagnostics
from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor

UNKNOWN = "c0ffee00-0000-4000-8000-000000000009"
EVENTS = "/v2.1/os-server-external-events"


def at(version: str) -> dict[str, str]:
    return {"OpenStack-API-Version": f"compute {version}"}


@pytest.fixture
def server(conductor: SuperConductor) -> Instance:
    """Return a server on a host."""
    conductor.servers = [builders.an_instance(host="host1", flavor=builders.a_flavor(vcpus=2))]
    return conductor.servers[0]


def test_diagnostics_have_the_same_fields_for_all_drivers(
    server: Instance, api: Api, conductor: SuperConductor
) -> None:
    """Since 2.48; a maximum that is not measured is that of the flavor."""
    disk = DiskDiagnostics(1, 2, 3, 4)
    conductor.diagnostics = Diagnostics(
        "process", "running", cpu_seconds=[1.5], memory_used_mb=7, disks=[disk]
    )
    found = api.get(f"/v2.1/servers/{server.uuid}/diagnostics").json
    assert (found["driver"], found["state"], found["num_cpus"]) == ("process", "running", 2)
    assert found["cpu_details"] == [{"id": 0, "time": 1_500_000_000, "utilisation": None}]
    assert found["memory_details"] == {"maximum": server.flavor.memory_mb, "used": 7}
    assert found["disk_details"][0]["write_requests"] == 4


def test_diagnostics_of_early_versions_are_numbers_by_name(
    server: Instance, api: Api, conductor: SuperConductor
) -> None:
    """As libvirt names them."""
    conductor.diagnostics = Diagnostics(
        "process", "running", cpu_seconds=[2.0], disks=[DiskDiagnostics(5)]
    )
    path = f"/v2.1/servers/{server.uuid}/diagnostics"
    found = api.send("GET", path, headers=at("2.47")).json
    assert (found["cpu0_time"], found["vda_read"]) == (2_000_000_000, 5)
    assert api.send("GET", path, headers=at("2.47"), token=MEMBER).status_code == 403


@pytest.mark.parametrize("protocol", ["VNC", "SPICE", "RDP", "Serial"])
def test_consoles_are_refused_as_unavailable(protocol: str, server: Instance, api: Api) -> None:
    """By an action until 2.5, by a path since then."""
    path = f"/v2.1/servers/{server.uuid}"
    body: dict[str, Any] = {f"os-get{protocol}Console": {"type": "novnc"}}
    early = api.send("POST", f"{path}/action", headers=at("2.5"), json=body)
    assert (early.status_code, "Unavailable console type novnc" in message(early)) == (400, True)
    assert api.send("POST", f"{path}/action", headers=at("2.6"), json=body).status_code == 404
    wanted = {"remote_console": {"protocol": "serial", "type": "serial"}}
    late = api.post(f"{path}/remote-consoles", wanted)
    assert (late.status_code, "Unavailable console type serial" in message(late)) == (400, True)
    odd = api.post(f"{path}/remote-consoles", {"remote_console": {"protocol": "x", "type": "y"}})
    assert "remote_console." in message(odd)


def test_a_serial_console_is_a_link_to_the_proxy(
    server: Instance,
    conf: cfg.ConfigOpts,
    conductor: SuperConductor,
    make_api: Callable[[], Api],
    tmp_path: Path,
) -> None:
    """By which only the proxy learns host and token; a driver without consoles is named."""
    console_links.make_key(tmp_path / "key")
    conf.set_override("enabled", True, group="serial_console")
    conf.set_override("key_file", str(tmp_path / "key"), group="serial_console")
    conf.set_override("api_url", "https://api.example.org:8774", group="serial_console")
    api, wanted = make_api(), {"protocol": "serial", "type": "serial"}
    path = f"/v2.1/servers/{server.uuid}/remote-consoles"
    found = api.post(path, {"remote_console": wanted}).json["remote_console"]
    front, _, token = found["url"].partition("?token=")
    link = console_links.open_sealed(unquote(token), console_links.ConsoleKeys(tmp_path / "key"))
    assert (found["type"], front) == ("serial", "ws://127.0.0.1:6083/")
    assert (link.instance_uuid, link.address, link.token, link.api_url) == (
        server.uuid, "192.0.2.7", "the agent's token", "https://api.example.org:8774",
    )  # fmt: skip
    conductor.serial_consoles_refused = "its driver does not support it"
    refused = api.post(path, {"remote_console": wanted})
    assert (refused.status_code, "its driver does not support it" in message(refused)) == (
        400,
        True,
    )


def test_a_serial_console_needs_an_address_at_which_the_proxy_asks(
    server: Instance, conf: cfg.ConfigOpts, make_api: Callable[[], Api], tmp_path: Path
) -> None:
    """Under a server other than ours none is certain; that of a request is what clients say."""
    console_links.make_key(tmp_path / "key")
    conf.set_override("enabled", True, group="serial_console")
    conf.set_override("key_file", str(tmp_path / "key"), group="serial_console")
    path = f"/v2.1/servers/{server.uuid}/remote-consoles"
    wanted = {"remote_console": {"protocol": "serial", "type": "serial"}}
    refused = make_api().post(path, wanted)
    assert (refused.status_code, "api_url is not set" in message(refused)) == (400, True)
    conf.set_override("compute_link_prefix", "https://api.example.org", group="api")
    assert make_api().post(path, wanted).status_code == 200


def test_each_event_is_answered(server: Instance, api: Api, conductor: SuperConductor) -> None:
    """207 if not all are done, 404 if no server is known."""
    conductor.servers.append(builders.an_instance(host=None, node=None))
    known = {"name": "network-changed", "server_uuid": server.uuid, "tag": "port"}
    done = api.post(EVENTS, {"events": [known]})
    assert (done.status_code, done.json["events"]) == (
        200, [{**known, "status": "completed", "code": 200}],
    )  # fmt: skip
    others = [
        {"name": "network-changed", "server_uuid": UNKNOWN},
        {"name": "network-changed", "server_uuid": conductor.servers[1].uuid},
        {"name": "volume-extended", "server_uuid": server.uuid},
    ]
    partly = api.post(EVENTS, {"events": [known, *others]})
    assert [each["code"] for each in partly.json["events"]] == [200, 404, 422, 400]
    assert partly.status_code == 207
    assert api.post(EVENTS, {"events": others[:1]}).status_code == 404
    assert api.post(EVENTS, {"events": [known]}, token=MEMBER).status_code == 403


def test_an_unknown_security_group_is_refused(api: Api, conductor: SuperConductor) -> None:
    """By its name; the default one is there."""
    conductor.flavors = [builders.a_flavor("small")]
    body = {"name": "s", "flavorRef": "small", "security_groups": [{"name": "web"}]}
    refused = api.post("/v2.1/servers", {"server": {**body, "networks": "none"}})
    assert refused.status_code == 400
    assert "server.security_groups.0.name" in message(refused)
    assert not conductor.servers
