"""Creates right after the broker lost its data, while services were cut off for long."""

import time
from collections.abc import Iterator

import pytest

from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import assert_nothing_is_lost
from tests.fixtures.deployment import Deployment, deployed
from tests.fixtures.services.brokers import lose_vhosts
from tests.fixtures.waiting import seconds

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.long]

SIZE = "vcpus=16:memory_mb=32768:disk_gb=500"
CELLS = {
    name: {f"{name}-agent": [f"name={name}-{{1..3}}:{SIZE}"]} for name in ("cell1", "cell2")
}  # fmt: skip
REQUESTS = 12
BACK_SECONDS_MAX = 15


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("broker-without-data")
    with deployed(folder, CELLS, kind=Deployment) as running:
        yield running


def test_no_create_fails_because_the_scheduler_was_cut_off(deployment: Deployment) -> None:
    """Its silent cells are asked before their hosts count as down."""
    flavor = deployment.create_flavor("small", vcpus=1, ram=64, disk=0)
    away_seconds = seconds(deployment.limits["down_seconds"] + 2)
    lose_vhosts(*deployment.virtual_hosts(), away_seconds=away_seconds)

    def create() -> str | None:
        asked = {"name": "one", "imageRef": "", "flavorRef": flavor, "networks": "none"}
        response = deployment.request("POST", "/servers", json={"server": asked})
        return response.json()["server"]["id"] if response.ok else None

    servers = [wait_for(create, "a create is accepted", BACK_SECONDS_MAX, pause_seconds=0.05)]
    while len(servers) < REQUESTS:
        if (server := create()) is not None:
            servers.append(server)
        time.sleep(0.1)  # they are spread over the seconds in which the cells are heard again
    assert set(assert_nothing_is_lost(deployment, servers).values()) == {"ACTIVE"}
