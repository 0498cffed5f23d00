"""Any process is killed with -9 in the middle of a large build: nothing is lost.

Killed processes come back as systemd would bring them back, except for the agent that stays away.
"""

import zlib

import pytest
from _pytest.mark.structures import ParameterSet

from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import (
    assert_all_active,
    assert_nothing_is_lost,
    delete_everything,
)
from tests.fixtures.deployment import LEASE_SECONDS, two_cells
from tests.fixtures.plugins import sampling
from tests.fixtures.services import POSTGRESQL

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.sampled_file(every=2)]


INSTANCES = 100 if sampling.TAKES_ALL else 40


def one_of(*names: str) -> list[ParameterSet]:
    """Return kills, one of which is done here with each commit; the others are long."""
    chosen = zlib.crc32(f"{sampling.seed()} {names}".encode()) % len(names)
    return [
        pytest.param(name, marks=() if number == chosen else pytest.mark.long)
        for number, name in enumerate(names)
    ]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    with two_cells(tmp_path_factory.mktemp("faults"), POSTGRESQL) as running:
        yield running


@pytest.fixture(scope="module")
def small(deployment):
    return deployment.create_flavor("small", vcpus=1, ram=512, disk=2)


@pytest.fixture(autouse=True)
def whole_and_empty(deployment):
    """Bring back what a test killed, then leave nothing to the next one."""
    yield
    for process in deployment.processes.values():
        if not process.is_alive():
            process.start()
    deployment.wait_until_ready()
    delete_everything(deployment)


def begin_a_build(deployment, flavor):
    """Ask for all instances, four a request; return their UUIDs when all are accepted."""
    requests = INSTANCES // 4
    return [uuid for _ in range(requests) for uuid in deployment.create_servers(flavor, 4)]


def wait_until_building(deployment):
    """Return when some are ACTIVE and some are not: the middle."""

    def states():
        found = [server["status"] for server in deployment.servers()]
        return found.count("ACTIVE") >= 5

    wait_for(states, "five are ACTIVE", 60, 0.05)


KILLS = (
    "super", "scheduler-1", "placement", "cell1-conductor",
    "super halfway", "cell1-conductor halfway", "cell2-agent-1 halfway",
)  # fmt: skip


@pytest.mark.parametrize("kill", one_of(*KILLS))
def test_a_killed_service_loses_nothing(deployment, small, kill):
    """It comes back and resumes its tasks when their leases have expired, also of half a build."""
    name, _, halfway = kill.partition(" ")
    uuids = begin_a_build(deployment, small)
    if halfway:
        wait_until_building(deployment)
    deployment.kill(name)
    deployment.start(name)
    assert_all_active(deployment, uuids)


def test_an_agent_that_stays_away_loses_nothing(deployment, small):
    """Its hosts count as down after a while; builds under way there move on, by themselves.

    Those whose alternates were all hosts of that agent end in ERROR, with the reason. Instances of
    the dead hosts can be deleted; the agent reaps the guests when it comes back.
    """
    uuids = begin_a_build(deployment, small)
    wait_until_building(deployment)
    deployment.kill("cell2-agent-1")
    states = list(assert_nothing_is_lost(deployment, uuids).values())
    assert states.count("ACTIVE") > INSTANCES * 0.8
    wait_for(
        lambda: any(h["state"] == "down" for h in hypervisors(deployment)),
        "the hosts of the killed agent are seen as down",
        deployment.limits["down_seconds"] + LEASE_SECONDS + 10,
    )
    delete_everything(deployment)


MOVES = [("resize", {"flavorRef": None}), ("os-migrateLive", None), ("migrate", None)]


@pytest.mark.parametrize("name", one_of("super", "placement", "cell1-conductor", "cell2-agent-1"))
def test_a_service_killed_in_the_middle_of_moves_loses_nothing(deployment, small, name):
    """Servers that move end where they were to go, or where they were, with a reason.

    Each runs once, on the host that its record names, and holds what it has there and nothing else.
    """
    big = deployment.create_flavor(f"big-{name}", vcpus=2, ram=1024, disk=2)
    uuids = [uuid for _ in range(4) for uuid in deployment.create_servers(small, 3)]
    assert_all_active(deployment, uuids)
    for number, uuid in enumerate(uuids):
        action, arguments = MOVES[number % len(MOVES)]
        deployment.act(uuid, action, {"flavorRef": big} if arguments else None)
    deployment.kill(name)
    deployment.start(name)
    found = deployment.at_rest(uuids, seconds=150)
    assert {server["status"] for server in found.values()} <= {"ACTIVE", "VERIFY_RESIZE"}
    for uuid, server in found.items():
        if server["status"] == "VERIFY_RESIZE":
            deployment.act(uuid, "confirmResize")
    found = deployment.at_rest(uuids, seconds=90)
    assert {server["status"] for server in found.values()} == {"ACTIVE"}
    assert_nothing_is_lost(deployment, uuids)


def hypervisors(deployment):
    return deployment.get("/os-hypervisors/detail")["hypervisors"]
