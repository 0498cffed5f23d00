"""Host updates to the scheduler of a simulation."""

from pathlib import Path

import pytest

from armillary.context import admin_context
from objects.destinations import Destinations
from simulator.events import Timeline
from simulator.fleet.host_states import HostStates
from simulator.load.load import Request, spec_of
from simulator.scenario.policies import read_policies
from simulator.simulated_services import SimulatedServices, make_simulated_services
from tests.builders import a_uuid
from tests.fixtures.fleets.simulations import a_scenario, some_hosts

LARGE = {"vcpus": 64, "memory_mb": 65536}


class Small:
    """A world of two hosts in two cells."""

    def __init__(self, folder: Path) -> None:
        self.scenario = a_scenario(
            folder, hosts=[some_hosts("a", **LARGE), some_hosts("b", cell="cell2", **LARGE)]
        )
        self.timeline = Timeline(1e6)
        self.book = HostStates(self.scenario)
        (policy,) = read_policies([], [])
        self.world: SimulatedServices = make_simulated_services(
            self.scenario, policy.conf, book=self.book, timeline=self.timeline
        )

    def decide(self) -> Destinations:
        spec = spec_of(Request(0.0, "small", (1.0,)), self.scenario, None)
        return self.world.decide(admin_context(), spec, [a_uuid()])

    def hosts_offered(self) -> set[str]:
        return {self.decide().selections()[0][0].service_host for _ in range(6)}


@pytest.fixture
def small(tmp_path: Path) -> Small:
    """Return a small world."""
    return Small(tmp_path)


def test_all_hosts_are_known_from_the_beginning(small: Small) -> None:
    """Those of each cell."""
    assert small.hosts_offered() == {"a", "b"}


def test_a_change_is_known_when_it_is_pushed(small: Small) -> None:
    """And not before."""
    small.book.set_up(small.book.hosts[0], is_up=False)
    assert small.hosts_offered() == {"a", "b"}
    small.world.push()
    assert small.hosts_offered() == {"b"}
    small.book.set_up(small.book.hosts[0], is_up=True)
    small.world.push()
    assert "a" in small.hosts_offered()


def test_cells_are_heard_of_though_nothing_changes(small: Small) -> None:
    """Or all their hosts would count as down after a quiet minute."""
    small.timeline.now = 5000.0
    small.world.send_heartbeats()
    assert small.hosts_offered() == {"a", "b"}
