"""Fields of requests about servers: each version takes what it has, and refuses the rest."""

import itertools
from typing import Any

import pytest

from api.call import Call
from api.handlers.servers import live_checks
from armillary import exception
from objects.hosts.host_answers import AvailabilityZone
from objects.instance import Instance
from objects.instances.migration import MigrationStatus, MigrationType
from objects.instances.server_topology import ServerTopology, TopologyCell
from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor


@pytest.fixture
def server(conductor: SuperConductor) -> Instance:
    """Return a server on a host, beside another host."""
    conductor.services = [builders.a_service("host1")]
    conductor.zones = [AvailabilityZone("nova", {})]
    conductor.servers = [builders.an_instance()]
    return conductor.servers[0]


BODIES = [
    ("2.72", {"lock": {"locked_reason": "mine"}}, 400),
    ("2.73", {"lock": {"locked_reason": "mine"}}, 202),
    ("2.55", {"migrate": {"host": "host1"}}, 400),
    ("2.56", {"migrate": {"host": "host1"}}, 202),
    ("2.1", {"unshelve": {"availability_zone": "nova"}}, 202),
    ("2.76", {"unshelve": {"availability_zone": "elsewhere"}}, 202),
    ("2.77", {"unshelve": {"availability_zone": "elsewhere"}}, 400),
    ("2.77", {"unshelve": {"availability_zone": "nova"}}, 202),
    ("2.90", {"unshelve": {"availability_zone": None}}, 400),
    ("2.91", {"unshelve": {"availability_zone": None}}, 202),
    ("2.90", {"unshelve": {"host": "host1"}}, 400),
    ("2.91", {"unshelve": {"host": "host1"}}, 202),
]


@pytest.mark.parametrize(("version", "body", "status"), BODIES, ids=str)
def test_an_action_takes_the_parameters_of_its_version(
    version: str, body: dict[str, Any], status: int, server: Instance, api: Api
) -> None:
    """Those of later versions are an error, and not lost."""
    path = f"/v2.1/servers/{server.uuid}/action"
    assert api.send("POST", path, json=body, headers=of(version)).status_code == status


NETWORKS: list[tuple[str, dict[str, Any], int]] = [
    ("2.36", {}, 202),
    ("2.36", {"networks": "none"}, 400),
    ("2.37", {}, 400),
    ("2.37", {"networks": "none"}, 202),
    ("2.37", {"networks": "auto"}, 202),
]


@pytest.mark.parametrize(("version", "more", "status"), NETWORKS, ids=str)
def test_networks_are_named_since_2_37(
    version: str, more: dict[str, Any], status: int, api: Api, conductor: SuperConductor
) -> None:
    """None and auto as well."""
    conductor.flavors = [builders.a_flavor("small")]
    body = {"server": {"name": "web", "flavorRef": "small", **more}}
    answer = api.send("POST", "/v2.1/servers", json=body, headers=of(version))
    assert answer.status_code == status


UUID = builders.a_uuid()
DEVICES = {
    "image to volume": {
        "boot_index": 0, "uuid": UUID, "source_type": "image", "destination_type": "volume",
        "volume_size": 10,
    },
    "blank volume": {"boot_index": -1, "source_type": "blank", "destination_type": "volume",
                     "volume_size": 1},
    "other format": {"boot_index": -1, "source_type": "blank", "destination_type": "local",
                     "guest_format": "ntfs", "volume_size": 1},
    "snapshot": {"boot_index": 0, "uuid": UUID, "source_type": "snapshot",
                 "destination_type": "volume"},
}  # fmt: skip


@pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)
def test_devices_that_do_not_exist_yet_are_refused(
    device: dict[str, Any], api: Api, conductor: SuperConductor
) -> None:
    """There is no volume service; the answer says what is allowed."""
    conductor.flavors = [builders.a_flavor("small")]
    wanted = {"name": "web", "flavorRef": "small", "block_device_mapping_v2": [device]}
    answer = api.post("/v2.1/servers", {"server": wanted})
    assert answer.status_code == 400
    assert "Volumes are not made by this service" in message(answer)


IMAGE = {"boot_index": 0, "uuid": UUID, "source_type": "image", "destination_type": "local"}
EPHEMERAL = {"boot_index": -1, "source_type": "blank", "destination_type": "local",
             "delete_on_termination": True}  # fmt: skip
SWAP = {**EPHEMERAL, "guest_format": "swap"}
ALLOWED_DISKS = [
    [IMAGE, EPHEMERAL, SWAP],
    [{**SWAP, "volume_size": 64}, IMAGE],
    [{**EPHEMERAL, "volume_size": "2", "guest_format": "ext4"}],
    [
        {**device, "volume_size": 0, "delete_on_termination": False}
        for device in (IMAGE, EPHEMERAL, SWAP)
    ],
]
"""In the last one with the values that gophercloud sends where none are given."""
REFUSED_DISKS = [
    ([IMAGE, {**EPHEMERAL, "volume_size": 1}], "has an ephemeral disk of 2 GiB"),
    ([IMAGE, {**SWAP, "volume_size": 65}], "has a swap disk of 64 MiB"),
    ([EPHEMERAL, EPHEMERAL], "one ephemeral and one swap disk at most"),
    ([{**IMAGE, "volume_size": 1}], "Volumes are not made by this service"),
    ([IMAGE, IMAGE], "A server boots from one device"),
]


def of_disks(api: Api, devices: list[dict[str, Any]]) -> Any:
    wanted = {"name": "web", "flavorRef": "small", "imageRef": UUID}
    return api.post("/v2.1/servers", {"server": {**wanted, "block_device_mapping_v2": devices}})


@pytest.mark.parametrize("devices", ALLOWED_DISKS, ids=["all", "sized", "ephemeral", "zero"])
def test_disks_of_the_flavor_may_be_named(
    devices: list[dict[str, Any]], api: Api, conductor: SuperConductor
) -> None:
    """The server has them in any case."""
    conductor.flavors = [builders.a_flavor("small", ephemeral_gb=2, swap_mb=64)]
    conductor.images = [builders.an_image("loop", id=UUID)]
    assert of_disks(api, devices).status_code == 202


@pytest.mark.parametrize(("devices", "why"), REFUSED_DISKS)
def test_other_disks_than_those_of_the_flavor_are_refused(
    devices: list[dict[str, Any]], why: str, api: Api, conductor: SuperConductor
) -> None:
    """Rather than made otherwise than asked for."""
    conductor.flavors = [builders.a_flavor("small", ephemeral_gb=2, swap_mb=64)]
    conductor.images = [builders.an_image("loop", id=UUID)]
    refused = of_disks(api, devices)
    assert refused.status_code == 400
    assert why in message(refused)
    assert conductor.servers == []


def test_a_disk_that_the_flavor_lacks_is_refused(api: Api, conductor: SuperConductor) -> None:
    """Its flavor decides."""
    conductor.flavors = [builders.a_flavor("small", ephemeral_gb=0, swap_mb=0)]
    assert "Flavor small has no swap disk" in message(of_disks(api, [SWAP]))


def test_a_failed_check_before_a_live_migration_is_an_error_until_2_33(
    server: Instance, api: Api, conductor: SuperConductor
) -> None:
    """Later versions show it in the migration."""
    move = builders.a_migration(
        server.uuid, migration_type=MigrationType.LIVE_MIGRATION, status=MigrationStatus.ERROR
    )
    conductor.migrations = [move]
    path = f"/v2.1/servers/{server.uuid}/action"
    body = {"os-migrateLive": {"host": None, "block_migration": "auto"}}
    refused = api.send("POST", path, json=body, headers=of("2.33"))
    assert refused.status_code == 400
    assert "The live migration cannot begin" in message(refused)
    assert api.send("POST", path, json=body, headers=of("2.34")).status_code == 202


def test_checks_that_take_long_are_not_waited_for(
    server: Instance, api: Api, conductor: SuperConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request was accepted, and goes on."""
    conductor.migrations = [
        builders.a_migration(
            server.uuid, migration_type=MigrationType.LIVE_MIGRATION,
            status=MigrationStatus.PREPARING,
        )
    ]  # fmt: skip
    slept: list[float] = []
    seconds = itertools.count()
    wait_for = live_checks.wait_for

    def wait(call: Call) -> None:
        wait_for(call, sleep=slept.append, clock=lambda: float(next(seconds)))

    monkeypatch.setattr(live_checks, "wait_for", wait)
    body = {"os-migrateLive": {"host": None, "block_migration": "auto"}}
    path = f"/v2.1/servers/{server.uuid}/action"
    assert api.send("POST", path, json=body, headers=of("2.30")).status_code == 202
    assert len(slept) == live_checks.WAIT_SECONDS_MAX - 1


def test_a_topology_shows_the_host_to_administrators_only(
    server: Instance, api: Api, conductor: SuperConductor
) -> None:
    """Since 2.78."""
    conductor.topology = ServerTopology([TopologyCell([0, 1], 512, 1, {"0": 4, "1": 5})], 4)
    path = f"/v2.1/servers/{server.uuid}/topology"
    node = {"vcpu_set": [0, 1], "memory_mb": 512, "siblings": []}
    of_host = {"host_node": 1, "cpu_pinning": {"0": 4, "1": 5}}
    assert api.get(path).json == {"nodes": [{**node, **of_host}], "pagesize_kb": 4}
    assert api.get(path, token=MEMBER).json == {"nodes": [node], "pagesize_kb": 4}
    assert api.send("GET", path, headers=of("2.77")).status_code == 404


def test_a_topology_needs_a_host_that_is_up(
    server: Instance, api: Api, conductor: SuperConductor
) -> None:
    """It is the host's to tell."""
    conductor.errors["get_topology"] = exception.InstanceInvalidState(
        instance_uuid=server.uuid, operation="show its topology", reason="it is on no host"
    )
    assert api.get(f"/v2.1/servers/{server.uuid}/topology").status_code == 409


def of(version: str) -> dict[str, str]:
    return {"OpenStack-API-Version": f"compute {version}"}
