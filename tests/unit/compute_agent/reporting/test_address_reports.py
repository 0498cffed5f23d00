"""Addresses of guests: told when they change, until the conductor has them."""

import pytest

from armillary import exception
from armillary.context import RequestContext
from compute_agent.environment import Environment
from compute_agent.reporting.address_reports import AddressReports
from objects.instances.guest_addresses import GuestAddresses
from tests.fixtures.agent import HOSTS, Agent, a_build

HOST = HOSTS[0]


class Conductor:
    """Takes addresses, but for the first time."""

    def __init__(self) -> None:
        self.told: list[list[GuestAddresses]] = []
        self.is_there = False

    def report_addresses(
        self, context: RequestContext, agent: str, found: list[GuestAddresses]
    ) -> None:
        is_there, self.is_there = self.is_there, True
        if not is_there:
            raise exception.Unavailable(reason="restarting")
        self.told.append(list(found))


def test_addresses_are_told_once_and_when_they_change(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could not be told is told the next time; guests that are not known are left out."""
    instance, spec = a_build(HOST)
    agent.conductor.expect(instance)
    agent.build(instance, spec)
    agent.settle()
    assert agent.journal is not None
    found = {instance.uuid: ["192.0.2.9"], "another": ["192.0.2.8"]}
    monkeypatch.setattr(agent.drivers[HOST], "list_addresses", lambda: found)
    conductor = Conductor()
    reports = AddressReports(
        Environment(agent.conf, "agent-1", agent.drivers, agent.journal, conductor, lambda: True)  # type: ignore[arg-type]
    )
    for _ in range(3):
        reports.run()
    found[instance.uuid] = ["192.0.2.9", "2001:db8::9"]
    reports.run()
    assert conductor.told == [
        [GuestAddresses(HOST, instance.uuid, 1, ["192.0.2.9"])],
        [GuestAddresses(HOST, instance.uuid, 1, ["192.0.2.9", "2001:db8::9"])],
    ]
