"""The whole system with a driver that claims nothing: servers run, move on and go all the same."""

import pytest

from tests.fixtures.asking import wait_for
from tests.fixtures.embedded import embedded_system

pytestmark = pytest.mark.sampled_file(every=3)

HOSTS = [
    "name=sim-{1..2}:vcpus=8:memory_mb=16384:disk_gb=100",
    "name=bad:vcpus=64:memory_mb=131072:disk_gb=1000",
]
CAPACITY = ["ComputeFilter", "CoreFilter", "RamFilter", "DiskFilter"]


@pytest.mark.parametrize("driver", ["caching_scheduler", "chance_scheduler", "fake_scheduler"])
def test_servers_become_active_without_a_claim_and_are_deleted(driver, tmp_path):
    """Also those whose first host fails; placement holds nothing at any time."""
    with embedded_system(
        tmp_path,
        hosts=3,
        scheduler__driver=driver,
        filter_scheduler__enabled_filters=CAPACITY,
        simulated__hosts=HOSTS,
        simulated__failing_hosts=["bad"],
    ) as system:
        flavor = system.create_flavor("tiny", vcpus=1, ram=512)
        uuids = system.create_servers(flavor, 4)
        settled = system.settled(uuids)
        assert {server["status"] for server in settled.values()} == {"ACTIVE"}
        assert {server["OS-EXT-SRV-ATTR:host"] for server in settled.values()} <= {"sim-1", "sim-2"}
        assert system.allocations() == {}
        for uuid in uuids:
            assert system.request("DELETE", f"/servers/{uuid}").status_code == 204
        wait_for(lambda: not system.servers(), "all servers are gone", 30)
