"""A whole deployment that requires signatures; and what a stolen agent's key is good for there."""

from __future__ import annotations

import contextlib

import pytest

from armillary import exception
from rpc.signing.trust import AGENTS
from rpc.transport import Bus
from tests.fixtures.asking import wait_for
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.deployment import two_cells
from tests.fixtures.forged_replies import ReplyForger, failure_of
from tests.fixtures.interfaces import BY_TOPIC, Anything
from tests.fixtures.ledger import assert_all_active, assert_nothing_is_lost, delete_everything
from tests.fixtures.services import POSTGRESQL
from tests.integration.signed_deployment import SignedDeployment

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql]

THIEF = "cell2-agent-1"


HEARS_AGENTS = {"cell_conductor", "conductor", "host_states"}
SERVED_BY = {
    "api": "api",
    "cell_conductor": "cell2-conductor",
    "compute": "cell2-agent-2",
    "conductor": "super",
    "host_states": "cell2-conductor",
    "placement": "placement",
    "scheduler": "scheduler-1",
}
"""Who is tried."""
BETWEEN_ZONES = {"zone", "zone_summaries"}
"""Topics that only zones of a tree serve: see ``test_signed_zones``."""


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signed")
    with two_cells(folder, POSTGRESQL, kind=SignedDeployment) as running:
        yield running


@pytest.fixture(scope="module")
def small(deployment):
    return deployment.create_flavor("small", vcpus=1, ram=512, disk=2)


@pytest.fixture
def stolen(deployment, tmp_path):
    """Lend a way to make a bus on either broker that signs with an agent's key."""
    buses = []

    def make(url):
        post = deployment.authority.post(THIEF, nonces="stolen-nonces")
        buses.append(Bus(messaging_conf(), url, post=post, lock_directory=tmp_path))
        return buses[-1]

    yield make
    for bus in buses:
        bus.close()


def test_everything_works_when_signatures_are_required(deployment, small):
    """Builds, a move with its messages in all directions, deletes: no message is refused."""
    uuids = [uuid for _ in range(5) for uuid in deployment.create_servers(small, 4)]
    assert_all_active(deployment, uuids)
    for action, status in (("migrate", "VERIFY_RESIZE"), ("confirmResize", "ACTIVE")):
        deployment.act(uuids[0], action)
        assert deployment.at_rest(uuids[:1])[uuids[0]]["status"] == status
    assert_nothing_is_lost(deployment, uuids)
    delete_everything(deployment)
    assert deployment.refusals() == []


LIES = {
    "placement": exception.CapacityExceeded(reason="a lie"),
    "scheduler": exception.NoValidHost(reason="a lie"),
    "conductor": exception.Forbidden(reason="a lie"),
    "cell_conductor": exception.CellNotFound(cell="a lie"),
}


def test_an_account_without_a_key_answers_nothing(deployment, small, tmp_path):
    """It takes calls to every service off the queues and answers each with a failure first.

    Nothing comes of it: servers are built and deleted as if it were not there.
    """
    with contextlib.ExitStack() as attack:
        forgers = {}
        for topic, lie in LIES.items():
            bus = Bus(messaging_conf(), url_of(deployment, topic), lock_directory=tmp_path)
            attack.callback(bus.close)
            failure = failure_of(lie)
            forgers[topic] = attack.enter_context(
                ReplyForger(
                    bus, topic, "forger", lambda _request, lie=failure: [{"failure": lie}],
                    passes_on=True,
                )
            )  # fmt: skip
        uuids = deployment.create_servers(small, 4)
        assert_all_active(deployment, uuids)
        assert_nothing_is_lost(deployment, uuids)
        delete_everything(deployment)
        assert {topic for topic in LIES if forgers[topic].count > 0} == set(LIES)


def test_a_stolen_agents_key_opens_nothing_but_itself(deployment, stolen):
    """Every method of every service is tried with it, in the name of another agent: all refused.

    Who hears agents knows the key, and forbids it; the others do not even know it, and drop what it
    signed without an answer.
    """
    for topic in SERVED_BY:
        methods = BY_TOPIC[topic].METHODS
        tried = sorted(set(methods) - {"object_backport_versions"})  # reads what it is sent, only
        assert tried or topic == "api"
        is_known = topic in HEARS_AGENTS
        bus = stolen(url_of(deployment, topic))
        api = Anything(bus, BY_TOPIC[topic], timeout_seconds=10 if is_known else 0.2)
        before = len(deployment.refusals(SERVED_BY[topic]))
        for method in tried:
            with pytest.raises(exception.Forbidden if is_known else exception.RpcTimeout):
                api.call(method, server_of(deployment, topic), agent="cell2-agent-2")
        wait_for(
            lambda: len(deployment.refusals(SERVED_BY[topic])) >= before + len(tried),  # noqa: B023
            f"every message to {topic} is refused", 10,
        )  # fmt: skip


def server_of(deployment, topic):
    """Return the one server that is tried, of topics that have several on that broker."""
    named = {"compute": "cell2-agent-2", "scheduler": "scheduler-1"}
    return deployment.cells[1].uuid if topic == "host_states" else named.get(topic)


def url_of(deployment, topic):
    """Return the broker that a topic is on; the thief is in the second cell."""
    is_in_cell = topic in {"cell_conductor", "compute"}
    return deployment.cells[1].transport_url if is_in_cell else deployment.top_url


def test_every_topic_is_tried():
    """A new one has to be named here."""
    assert {*SERVED_BY, *BETWEEN_ZONES} == set(BY_TOPIC)


def test_a_revoked_agent_is_not_heard_any_more(deployment):
    """After one push: its reports are refused, so that its hosts are down; the others' are not."""
    agents = deployment.authority.lists[AGENTS]
    deployment.authority.change(AGENTS, agents.changed({THIEF: None}))
    at_super = deployment.trust_path("super", AGENTS)
    at_super.write_text(deployment.authority.path(AGENTS).read_text())
    wait_for(
        lambda: any("unknown_key" in line for line in deployment.refusals("cell2-conductor")),
        "the cell's conductor refuses the agent",
        30,
    )
    wait_for(
        lambda: not any(host.startswith("cell2-a") for host in deployment.hosts_up()),
        "the agent's hosts are down",
        60,
    )
    assert any(host.startswith("cell2-b") for host in deployment.hosts_up())
