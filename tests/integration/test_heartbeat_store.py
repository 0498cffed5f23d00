"""Heartbeats in memcached, of real processes: killed, emptied, and with a host that dies."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.asking import wait_for
from tests.fixtures.deployment import SIMULATED, Deployment, deployed
from tests.fixtures.services.memcached import Memcached, running_memcached
from tests.fixtures.services.ports import free_port

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.long]

SIZE = "vcpus=4:memory_mb=4096:disk_gb=50"
CELLS = {"cell1": {"agent-1": [f"name=h{{1..2}}:{SIZE}"], "agent-2": [f"name=h3:{SIZE}"]}}
OPTIONS = """
[DEFAULT]
servicegroup_driver = mc
[servicegroup]
memcache_servers = {server}
"""
TOLD = "servicegroup_driver) is unavailable"


@pytest.fixture(scope="module")
def memcached() -> Iterator[Memcached]:
    with running_memcached(free_port()) as lent:
        yield lent


@pytest.fixture(scope="module")
def deployment(
    memcached: Memcached, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    options = SIMULATED + OPTIONS.format(server=memcached.server)
    folder: Path = tmp_path_factory.mktemp("heartbeats")
    with deployed(folder, CELLS, kind=Deployment, options=options) as made:
        yield made


def states(deployment: Deployment) -> dict[str, str]:
    listed = deployment.get("/os-services", binary="armillary-compute")["services"]
    return {each["host"]: each["state"] for each in listed}


def stay_up(deployment: Deployment, downs: float) -> None:
    """Look for several down times that no host is marked as down."""
    until = time.monotonic() + downs * deployment.limits["down_seconds"]
    while time.monotonic() < until:
        assert states(deployment) == dict.fromkeys(("h1", "h2", "h3"), "up")
        time.sleep(0.5)


def told(deployment: Deployment) -> int:
    return deployment.processes["cell1-conductor"].log.read_text().count(TOLD)


def test_without_memcached_no_host_goes_down_and_a_dead_one_is_found(
    deployment: Deployment, memcached: Memcached
) -> None:
    """The conductor says once that it is gone; a dead agent's host is found in any case."""
    stay_up(deployment, 1.5)
    assert told(deployment) == 0
    memcached.kill()
    stay_up(deployment, 2.5)
    assert told(deployment) == 1
    deployment.kill("agent-2")
    limit = deployment.limits["down_seconds"] + 10
    wait_for(lambda: states(deployment)["h3"] == "down", "h3 is down", limit)
    memcached.start()
    deployment.start("agent-2")
    wait_for(lambda: states(deployment)["h3"] == "up", "h3 is up", 60)
    memcached.flush()
    stay_up(deployment, 2.5)
    deployment.kill("agent-1")
    wait_for(lambda: states(deployment)["h1"] == "down", "h1 is down", limit)
    assert states(deployment) == {"h1": "down", "h2": "down", "h3": "up"}
