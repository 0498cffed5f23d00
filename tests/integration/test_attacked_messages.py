"""Attacks on messages where accounts, TLS and required signatures protect them together.

The attacker rules a broker, and has no key. What it recorded comes again, also after the service
that took it was killed and started again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from rpc.broker import topics
from rpc.queue_types import CONTROL_EXCHANGE
from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import assert_all_active
from tests.fixtures.deployment import two_cells
from tests.fixtures.services import POSTGRESQL
from tests.integration.trusted_deployment import (
    Sent,
    TrustedDeployment,
    inside,
    listening,
    put,
    wrapped,
)

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.long]

THIEF, OTHER = "cell2-agent-1", "cell2-agent-2"
CELL_EXCHANGE = topics.direct_exchange(CONTROL_EXCHANGE, "cell_conductor")
SEEN_BEFORE = ("(replayed)", "(stale)")
"""Why a message is refused that was taken before: by then it may be too old."""


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrustedDeployment]:
    folder = tmp_path_factory.mktemp("attacked")
    with two_cells(folder, POSTGRESQL, kind=TrustedDeployment) as running:
        assert isinstance(running, TrustedDeployment)
        yield running


@pytest.fixture(scope="module")
def small(deployment: TrustedDeployment) -> str:
    return deployment.create_flavor("small", vcpus=1, ram=512, disk=2)


@pytest.fixture(scope="module")
def servers(deployment: TrustedDeployment, small: str) -> list[str]:
    """Return servers that stay, in both cells."""
    uuids = deployment.create_servers(small, 8)
    assert_all_active(deployment, uuids)
    return uuids


Recorded = dict[str, list[Sent]]
"""Virtual host's URL -> what was sent there."""


def record(deployment: TrustedDeployment, work: Callable[[], object]) -> Recorded:
    """Return all messages while some work was done."""
    with listening(deployment) as ears:
        work()
        return {url: each.heard() for url, each in ears.items()}


@pytest.fixture(scope="module")
def recorded(deployment: TrustedDeployment, small: str, servers: list[str]) -> Recorded:
    """Return the messages of builds, stops, a move and deletes; none of them is refused."""

    def work() -> None:
        uuids = deployment.create_servers(small, 4)
        assert_all_active(deployment, uuids)
        for action, status in (("migrate", "VERIFY_RESIZE"), ("confirmResize", "ACTIVE"),
                               ("os-stop", "SHUTOFF")):  # fmt: skip
            deployment.act(uuids[0], action)
            assert deployment.at_rest(uuids[:1])[uuids[0]]["status"] == status
        deployment.delete_servers(*uuids)

    return record(deployment, work)


def state(deployment: TrustedDeployment) -> object:
    """Return what an attack must not change: servers with their times, and what they hold."""
    shown = {
        each["id"]: (each["status"], each["OS-EXT-SRV-ATTR:host"], each["updated"])
        for each in deployment.servers()
    }
    return shown, deployment.allocations()


def one_of_each(sent: list[Sent]) -> list[Sent]:
    """Return the last message of each method to each server; no fanout."""
    found = {(*each.contents["to"], each.method): each for each in sent if each.is_request}
    return [each for each in found.values() if not each.is_fanout]


def takers(deployment: TrustedDeployment) -> dict[tuple[str, str, str], str]:
    """Return (virtual host, exchange, key) -> the one process that takes what is put there."""
    top = deployment.top_url
    found = {
        (top, CONTROL_EXCHANGE, "conductor"): "super",
        (top, CONTROL_EXCHANGE, "placement"): "placement",
        (top, CONTROL_EXCHANGE, "scheduler.scheduler-1"): "scheduler-1",
    }
    for cell in deployment.cells:
        conductor = f"{cell.name}-conductor"
        found[top, CONTROL_EXCHANGE, f"host_states.{cell.uuid}"] = conductor
        found[cell.transport_url, CELL_EXCHANGE, "cell_conductor"] = conductor
        for agent in cell.agents:
            found[cell.transport_url, CONTROL_EXCHANGE, f"compute.{agent}"] = agent
    return found


def refused(deployment: TrustedDeployment, process: str, *reasons: str) -> int:
    """Return how many messages a process says it refused for these reasons."""
    lines = deployment.refusals(process)
    return sum(any(reason in line for reason in reasons) for line in lines)


def attack(
    deployment: TrustedDeployment, bodies: Mapping[tuple[str, str, str], list[str]], *reasons: str
) -> None:
    """Put messages where one process takes them, and wait until it has refused all of them."""
    taken_by = takers(deployment)
    before = {name: refused(deployment, name, *reasons) for name in taken_by.values()}
    sent = dict.fromkeys(before, 0)
    for where, found in bodies.items():
        with inside(where[0]) as broker:
            for body in found:
                assert put(broker, *where[1:], body) == 0
        sent[taken_by[where]] += len(found)
    assert sum(sent.values()) > 0
    for name, count in sent.items():
        wait_for(
            lambda: refused(deployment, name, *reasons) >= before[name] + count,  # noqa: B023
            f"{name} refuses {count} messages: {reasons}", 60,
        )  # fmt: skip
        assert refused(deployment, name, *reasons) == before[name] + count


def test_everything_works_with_all_that_can_be_asked(
    deployment: TrustedDeployment, recorded: Recorded
) -> None:
    """No message is refused by a process or a broker; all come by TLS, and all are signed."""
    assert deployment.refusals() == []
    logs = [each.log.read_text(errors="replace") for each in deployment.processes.values()]
    assert not any("ACCESS_REFUSED" in log for log in logs)
    assert deployment.door.clients == {"services"}
    assert all(each.contents for found in recorded.values() for each in found)


def again_in(deployment: TrustedDeployment, recorded: Recorded) -> dict[Any, list[str]]:
    """Return recorded messages at the places where the process that took them takes them again."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for url, exchange, key in takers(deployment):
        taken = [each for each in recorded[url] if (each.exchange, each.key) == (exchange, key)]
        if bodies := [wrapped(each.plain) for each in one_of_each(taken)]:
            found[url, exchange, key] = bodies
    return found


def queued(deployment: TrustedDeployment, queue: str) -> int:
    """Return how many messages wait in a queue of the top broker."""
    with inside(deployment.top_url) as broker:
        count: int = broker.channel().queue_declare(queue, passive=True).message_count
        return count


def test_a_message_that_comes_again_is_refused(
    deployment: TrustedDeployment, recorded: Recorded
) -> None:
    """One of each method, at each service; also after that was killed and started again.

    A scheduler may take what another one took before, which changes nothing.
    """
    again = again_in(deployment, recorded)
    assert {key for _, _, key in again} >= {"conductor", "placement", "cell_conductor"}
    assert any(key.startswith("compute.") for _, _, key in again)
    before = state(deployment)
    attack(deployment, again, *SEEN_BEFORE)
    names = ["placement", "super", "cell2-conductor", THIEF, OTHER]
    for name in names:
        deployment.kill(name)
    deployment.start(*names)
    deployment.wait_until_ready()
    attack(deployment, again, *SEEN_BEFORE)
    decisions = [each for each in recorded[deployment.top_url] if each.key == "scheduler"]
    assert decisions
    with inside(deployment.top_url) as broker:
        for each in decisions:
            put(broker, each.exchange, each.key, wrapped(each.plain))
    wait_for(lambda: not queued(deployment, "scheduler"), "the schedulers have taken all", 60)
    assert state(deployment) == before
