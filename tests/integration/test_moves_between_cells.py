"""Moves between cells on real processes, brokers and databases, any of them killed meanwhile."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import assert_all_active, delete_everything
from tests.fixtures.deployment import Deployment, deployed
from tests.integration.trust.signed_deployment import SignedDeployment

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.long]

PATIENCE_SECONDS = 120.0
SIZE = "vcpus=64:memory_mb=65536:disk_gb=500"
HOST = "OS-EXT-SRV-ATTR:host"
POLICY = '"compute:servers:resize:cross_cell": "role:admin"\n'
SILENT = 503
KILLED = re.compile("super|conductor|agent")
OPTIONS = """
[simulated]
build_delay_seconds_min = 0
build_delay_seconds_max = 0.1
[conductor]
lease_seconds = 10
recovery_interval_seconds = 1
retry_pause_seconds = 1
[cell]
timed_operations_interval_seconds = 5
[oslo_policy]
policy_file = {policy}
"""


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Lend one of two cells, in which administrators may have servers change their cell."""
    folder: Path = tmp_path_factory.mktemp("between-cells")
    policy = folder / "policy.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    cells = {
        name: {f"{name}-agent": [f"name={name}-a{{1..2}}:{SIZE}"]} for name in ("cell1", "cell2")
    }
    options = OPTIONS.format(policy=policy)
    with deployed(folder, cells, kind=SignedDeployment, options=options, schedulers=1) as made:
        yield made
        delete_everything(made)


@pytest.fixture(scope="module")
def flavor(deployment: Deployment) -> str:
    return str(deployment.create_flavor("small", vcpus=1, ram=512, disk=2))


def shown(deployment: Deployment, uuid: str) -> dict[str, Any] | None:
    """Return a server, None while its cell is silent; it is shown and listed at every moment."""
    response = deployment.request("GET", f"/servers/{uuid}")
    if response.status_code == SILENT:
        return None
    assert response.ok, response.text
    page = deployment.get("/servers/detail")
    assert [each["id"] for each in page["servers"]] == [uuid] or page["armillary:down_cells"]
    server: dict[str, Any] = response.json()["server"]
    return server


def wait_until(deployment: Deployment, uuid: str, status: str, host: str) -> None:
    """Wait until a server has a status on a host, and nothing is done to it any more."""

    def is_so() -> bool:
        server = shown(deployment, uuid)
        if server is None or server["OS-EXT-STS:task_state"] is not None:
            return False
        return (server["status"], server[HOST]) == (status, host)

    wait_for(is_so, f"{uuid} is {status} on {host}", PATIENCE_SECONDS)


def end(deployment: Deployment, uuid: str, action: str, host: str) -> None:
    """Confirm or revert, and wait until it is on a host and nothing else is held."""
    deployment.act(uuid, action)
    wait_until(deployment, uuid, "ACTIVE", host)
    assert set(deployment.allocations()) == {uuid}


def test_a_server_goes_to_another_cell_and_back(deployment: Deployment, flavor: str) -> None:
    """There and confirmed; back and reverted; then home, with everybody killed on the way."""
    (uuid,) = deployment.create_servers(flavor, 1)
    assert_all_active(deployment, [uuid])
    server = shown(deployment, uuid)
    assert server is not None
    home = str(server[HOST])
    there = "cell2-a1" if home.startswith("cell1") else "cell1-a1"

    deployment.act(uuid, "migrate", {"host": there})
    wait_until(deployment, uuid, "VERIFY_RESIZE", there)
    assert len(deployment.allocations()) == 2
    end(deployment, uuid, "confirmResize", there)

    deployment.act(uuid, "migrate", {"host": home})
    wait_until(deployment, uuid, "VERIFY_RESIZE", home)
    end(deployment, uuid, "revertResize", there)

    for name in [name for name in deployment.processes if KILLED.search(name)]:
        deployment.act(uuid, "migrate", {"host": home})
        deployment.kill(name)
        deployment.start(name)
        wait_until(deployment, uuid, "VERIFY_RESIZE", home)
        end(deployment, uuid, "confirmResize", home)
        home, there = there, home
