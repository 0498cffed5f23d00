"""A whole deployment that requires signatures; and what a stolen agent's key is good for there."""

from __future__ import annotations

import pytest

from armillary import exception
from armillary.context import admin_context
from rpc import authority
from rpc.client import RpcClient
from rpc.signing.trust import AGENTS
from rpc.transport import Bus
from tests.fixtures.asking import wait_for
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.layouts import two_cells
from tests.fixtures.ledger import (
    assert_all_active,
    assert_nothing_is_lost,
    delete_everything,
)
from tests.fixtures.services import POSTGRESQL
from tests.fixtures.signed_deployment import SignedDeployment

pytestmark = [
    pytest.mark.rabbitmq,
    pytest.mark.postgresql,
    pytest.mark.timeout(400),
]

THIEF = "cell2-agent-1"


class AnyAPI(RpcClient):
    """A client of whatever topic, as somebody makes it who has a key and an account."""

    def __init__(self, topic, bus):
        self.TOPIC = topic
        super().__init__(bus, timeout_seconds=10)

    def call(self, method, server=None, **arguments):
        return self._call(admin_context(), method, server=server, **arguments)


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signed")
    with two_cells(folder, POSTGRESQL, kind=SignedDeployment) as running:
        yield running


@pytest.fixture(scope="module")
def small(deployment):
    return deployment.create_flavor("small", vcpus=1, ram=512, disk=2)


@pytest.fixture
def stolen(deployment):
    """Lend a way to make a bus on either broker that signs with an agent's key."""
    buses = []

    def make(url):
        post = deployment.authority.post(THIEF, nonces="stolen-nonces")
        buses.append(Bus(messaging_conf(), url, post=post))
        return buses[-1]

    yield make
    for bus in buses:
        bus.close()


def refusals(deployment, process):
    """Return the lines in which a process says that it refused something."""
    log = deployment.processes[process].log.read_text(errors="replace")
    return [line for line in log.splitlines() if " refused " in line]


def test_everything_works_when_signatures_are_required(deployment, small):
    """Builds, a move with its messages in all directions, deletes: nobody is refused anything."""
    uuids = deployment.create_servers(small, 20)
    assert_all_active(deployment, uuids)
    for action, status in (("migrate", "VERIFY_RESIZE"), ("confirmResize", "ACTIVE")):
        deployment.act(uuids[0], action)
        assert deployment.at_rest(uuids[:1])[uuids[0]]["status"] == status
    assert_nothing_is_lost(deployment, uuids)
    delete_everything(deployment)
    assert [line for name in deployment.processes for line in refusals(deployment, name)] == []


def test_a_stolen_agents_key_opens_nothing_but_itself(deployment, stolen):
    """Every method of every service is tried with it, and for another agent; all is refused.

    Nor does its answer to a question count that was asked of another.
    """
    cell2 = deployment.cells[1]
    refused = []
    for topic, methods in authority.TABLE.items():
        url = cell2.transport_url if topic in {"cell_conductor", "compute"} else deployment.top_url
        api = AnyAPI(topic, stolen(url))
        server = "cell2-agent-2" if topic == "compute" else None
        for method in methods:
            if method == "object_backport_versions":
                continue  # it rewrites what the caller sent, and reads nothing
            with pytest.raises(exception.Forbidden):
                api.call(method, server, agent="cell2-agent-2")
            refused.append(method)
    expected = sum(len(methods) for methods in authority.TABLE.values()) - 1
    assert len(refused) == expected


def test_a_revoked_agent_is_not_heard_any_more(deployment):
    """After one push: its reports are refused, so that its hosts are down; the others' are not."""
    agents = deployment.authority.lists[AGENTS]
    deployment.authority.change(AGENTS, agents.changed({THIEF: None}))
    at_super = deployment.trust_path("super", AGENTS)
    at_super.write_text(deployment.authority.path(AGENTS).read_text())
    wait_for(
        lambda: any("unknown_key" in line for line in refusals(deployment, "cell2-conductor")),
        "the cell's conductor refuses the agent",
        30,
    )
    wait_for(
        lambda: not any(host.startswith("cell2-a") for host in deployment.hosts_up()),
        "the agent's hosts are down",
        60,
    )
    assert any(host.startswith("cell2-b") for host in deployment.hosts_up())
