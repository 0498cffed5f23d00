"""Several scheduler processes together: server groups hold, and nothing fails for it."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from tests.faults.stores import why_missing
from tests.faults.world import CELLS, Size, world
from tests.fixtures.services import leave_out

pytestmark = [pytest.mark.long]

HOSTS, TOGETHER, ROUNDS = 8, 6, 3
HOSTS_NEVER_FAIL = 2
"""A seed whose options let no build fail."""
SIZE = Size(
    copies=2, simulated=2, processes=0, cells=CELLS[:1], hosts=HOSTS // 2, scheduler_workers=2
)


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    reason = why_missing()
    if reason:
        leave_out(reason)
    with world(tmp_path_factory.mktemp("schedulers"), SIZE, HOSTS_NEVER_FAIL, pace=2.0) as running:
        yield running


def create(deployment, flavor, group, _number):
    """Create a server of a group; return its UUID."""
    body = {
        "server": {"name": "together", "flavorRef": flavor},
        "os:scheduler_hints": {"group": group},
    }
    return deployment.post("/servers", body)["server"]["id"]


@pytest.mark.parametrize("policy", ["anti-affinity", "affinity"])
def test_servers_of_a_group_that_are_created_together_keep_its_policy(deployment, policy):
    """Two schedulers of two workers each: none of the servers ends in ERROR."""
    flavor = deployment.create_flavor(f"of-{policy}", vcpus=1, ram=64)
    for number in range(ROUNDS):
        body = {"server_group": {"name": f"{policy}-{number}", "policy": policy}}
        group = deployment.post("/os-server-groups", body)["server_group"]["id"]
        with ThreadPoolExecutor(TOGETHER) as pool:
            made = list(pool.map(partial(create, deployment, flavor, group), range(TOGETHER)))
        found = deployment.settled(made)
        assert {server["status"] for server in found.values()} == {"ACTIVE"}
        hosts = {server["OS-EXT-SRV-ATTR:host"] for server in found.values()}
        assert len(hosts) == (TOGETHER if policy == "anti-affinity" else 1)
        deployment.delete_servers(*made)
