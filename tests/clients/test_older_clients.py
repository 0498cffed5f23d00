"""openstackclient 6.6 and novaclient 18.13: servers, their moves, and hosts."""

from pathlib import Path

import pytest

from tests.clients.cloud import OLDER, Cloud, needs

pytestmark = [pytest.mark.long, needs(OLDER)]

FOR_OPENSTACK = [
    "server list --long",
    "server set --property z=1 old",
    "server event list old",
    "--os-compute-api-version 2.30 server migrate --live-migration --wait old",
    "--os-compute-api-version 2.56 server migrate --wait old",
    "server resize confirm old",
    "server stop old",
    "server start old",
    "server image create --name old-image --wait old",
    "hypervisor list --long",
    "hypervisor show sim-1",
    "hypervisor stats show",
    "compute service set --disable --disable-reason x sim-2 nova-compute",
    "compute service set --enable sim-2 nova-compute",
    "aggregate create --zone z1 zoned",
    "aggregate delete zoned",
    "aggregate create agg",
    "aggregate add host agg sim-1",
    "aggregate remove host agg sim-1",
    "aggregate delete agg",
    "server group create --policy anti-affinity apart",
    "keypair create old-key",
    "quota set --cores 50 admin",
    "usage show",
    "limits show --absolute",
    "console log show old",
    "server migration list",
    "server rebuild --wait old",
]
"""Commands in their order, about the server "old"."""

FOR_NOVA = [
    "show one",
    "list --all-tenants",
    "instance-action-list one",
    "diagnostics one",
    "meta one set x=y",
    "reboot --poll one",
    "console-log one",
    "lock one",
    "unlock one",
    "pause one",
    "unpause one",
    "server-tag-add one t1",
    "rescue one",
    "unrescue one",
    "image-create --poll one one-image",
    "backup one one-backup daily 2",
    "migrate --poll one",
    "resize-confirm one",
    "hypervisor-show sim-1",
    "hypervisor-servers sim-1",
    "service-list",
    "usage-list",
    "limits",
    "version-list",
    "host-evacuate-live sim-1",
    "update --name uno one",
    "shelve uno",
]
"""Commands in their order, about the server "one"."""


@pytest.fixture(scope="module")
def cloud(clouds: Path) -> Cloud:
    """Return the older clients' view of the deployment, with a flavor and an image."""
    found = Cloud(clouds, OLDER)
    found.run("flavor", "create", "--vcpus", "1", "--ram", "64", "--disk", "1", "old-flavor")
    found.run("image", "create", "--property", "img_hv_type=simulated", "--public", "old-empty")
    return found


@pytest.fixture(scope="module")
def old(cloud: Cloud, tmp_path_factory: pytest.TempPathFactory) -> Cloud:
    """Have a server "old" with user data and a config drive, made by ``openstack``."""
    data = tmp_path_factory.mktemp("old") / "user-data"
    data.write_text("#!/bin/sh\n")
    sizes = ["--flavor", "old-flavor", "--image", "old-empty"]
    told = ["--user-data", str(data), "--config-drive", "True", "--property", "a=b"]
    made = cloud.show("server", "create", *sizes, *told, "--wait", "old")
    assert (made["status"], made["config_drive"]) == ("ACTIVE", "True")
    return cloud


@pytest.fixture(scope="module")
def one(cloud: Cloud) -> Cloud:
    """Have a server "one", made by ``nova``."""
    cloud.nova(
        "boot", "--flavor", "old-flavor", "--image", "old-empty", "--nic", "none",
        "--meta", "a=b", "--poll", "one",
    )  # fmt: skip
    return cloud


@pytest.mark.parametrize("command", FOR_OPENSTACK)
def test_the_older_openstack_client_works(old: Cloud, command: str) -> None:
    """By the versions that it asks for by itself; one command after the other."""
    old.run(*command.split())


def test_a_server_made_by_it_is_deleted(old: Cloud) -> None:
    """It waits until it is gone."""
    old.run("server", "delete", "--wait", "old")
    assert "old" not in old.names("server", "list")


@pytest.mark.parametrize("command", FOR_NOVA)
def test_novaclient_works(one: Cloud, command: str) -> None:
    """By the newest version that it knows; one command after the other."""
    one.nova(*command.split())


def test_novaclient_evacuates_a_host_that_is_down(one: Cloud) -> None:
    """All of its servers, to where there is room."""
    one.nova(
        "boot", "--flavor", "old-flavor", "--image", "old-empty", "--nic", "none", "--poll", "two"
    )
    host = one.show("server", "show", "two")["OS-EXT-SRV-ATTR:host"]
    down = ("--os-compute-api-version", "2.53", "compute", "service", "set")
    one.run(*down, "--down", host, "nova-compute")
    try:
        answer = one.nova("host-evacuate", host)
    finally:
        one.run(*down, "--up", host, "nova-compute")
    assert one.show("server", "show", "two")["id"] in answer
    assert "True" in answer


def test_novaclient_is_refused_a_console(one: Cloud) -> None:
    """As where Nova has none."""
    assert "Unavailable console type novnc" in one.refusal("get-vnc-console", "uno", "novnc")
