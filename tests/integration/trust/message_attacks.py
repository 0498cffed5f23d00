"""Attacks on the messages of a deployment: recorded ones are put where they may be taken."""

from collections.abc import Callable, Mapping

from rpc.broker import topics
from rpc.queue_types import CONTROL_EXCHANGE
from tests.fixtures.asking import wait_for
from tests.integration.trust.trusted_deployment import (
    Sent,
    TrustedDeployment,
    inside,
    listening,
    put,
    wrapped,
)

CELL_EXCHANGE = topics.direct_exchange(CONTROL_EXCHANGE, "cell_conductor")

Where = tuple[str, str, str]
"""Virtual host's URL, exchange and routing key."""
Recorded = dict[str, list[Sent]]
"""Virtual host's URL -> what was sent there."""


def record(deployment: TrustedDeployment, work: Callable[[], object]) -> Recorded:
    """Return all messages while some work was done."""
    with listening(deployment) as ears:
        work()
        return {url: each.heard() for url, each in ears.items()}


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


def takers(deployment: TrustedDeployment) -> dict[Where, str]:
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


def attack(deployment: TrustedDeployment, bodies: Mapping[Where, list[str]], *reasons: str) -> None:
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


def again_in(deployment: TrustedDeployment, recorded: Recorded) -> dict[Where, list[str]]:
    """Return recorded messages at the places where the process that took them takes them again."""
    found: dict[Where, list[str]] = {}
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
