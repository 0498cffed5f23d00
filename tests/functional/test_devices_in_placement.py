"""Devices that placement counts: hosts with parts, from the agent's report to a server."""

import pytest

from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import delete_everything
from tests.fixtures.embedded import embedded_system

pytestmark = pytest.mark.sampled_file(every=3)

HOSTS = "name=sim-{1..2}:vcpus=8:memory_mb=16384:disk_gb=100:numa=2:pci=8086/10ed@2"
DEVICE = "CUSTOM_PCI_8086_10ED"


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    with embedded_system(
        tmp_path_factory.mktemp("devices"),
        hosts=2,
        simulated__hosts=[HOSTS],
        compute__numa_nodes_in_placement=True,
        pci__report_in_placement=True,
        pci__alias=['{"name": "nic", "vendor_id": "8086", "product_id": "10ed"}'],
        filter_scheduler__pci_in_placement=True,
        filter_scheduler__enabled_filters=[
            "ComputeFilter", "NUMATopologyFilter", "PciPassthroughFilter"
        ],
    ) as api:  # fmt: skip
        yield api
        delete_everything(api)


@pytest.fixture(scope="module")
def flavor(system):
    flavor_id = system.create_flavor("with-nic", vcpus=1, ram=512)
    extra_specs = {"extra_specs": {"pci_passthrough:alias": "nic:1"}}
    system.post(f"/flavors/{flavor_id}/os-extra_specs", extra_specs)
    wait_for_devices(system, flavor_id, 4)
    return flavor_id


def wait_for_devices(system, flavor, count):
    """Wait until placement and the scheduler know that number of free devices."""
    asked = {"server": {"flavorRef": flavor, "max_count": count, "min_count": count}}

    def are_free():
        """A scheduler that has just started may not answer yet."""
        response = system.request("POST", "/armillary/dry-run", json=asked)
        return response.ok and response.json()["dry_run"]["hosts"]

    wait_for(are_free, f"{count} devices are free", 30)


def cards(system):
    """Return server -> the cards that it holds, all of one device."""
    return {
        server: [provider for provider, one in held.items() if one == {DEVICE: 1}]
        for server, held in system.allocations().items()
    }


def test_each_server_holds_a_card_until_none_is_left(system, flavor):
    """Four cards in the cells of two hosts serve four servers, of which one makes room again."""
    uuids = system.create_servers(flavor, 4)
    assert {one["status"] for one in system.settled(uuids).values()} == {"ACTIVE"}
    held = cards(system)
    assert sorted(held) == sorted(uuids)
    assert len({card for (card,) in held.values()}) == 4
    (refused,) = system.create_servers(flavor, 1)
    assert system.settled([refused])[refused]["status"] == "ERROR"
    assert system.request("DELETE", f"/servers/{uuids[0]}").status_code == 204
    wait_for_devices(system, flavor, 1)
    (fifth,) = system.create_servers(flavor, 1)
    assert system.settled([fifth])[fifth]["status"] == "ACTIVE"
    assert cards(system)[fifth] == held[uuids[0]]
