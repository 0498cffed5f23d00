"""Server groups of a simulation know where their members are."""

from pathlib import Path

from simulator.fleet.host_states import HostStates
from simulator.load.groups import Groups
from simulator.load.load import Request
from simulator.scenario.scenario import GroupRules
from tests.fixtures.fleets.simulations import a_scenario

REQUEST = Request(0.0, "small", (1.0,), group="g", group_rules=GroupRules("anti-affinity", 2))


def test_members_come_and_go(tmp_path: Path) -> None:
    """With their hosts, each named once."""
    groups = Groups()
    host, other, *_ = HostStates(a_scenario(tmp_path)).hosts
    groups.enter("g", "u1", host)
    groups.enter("g", "u2", host)
    groups.enter("g", "u3", other)
    groups.enter(None, "u4", other)
    groups.leave("g", "u3")
    group = groups.group_of(REQUEST)
    assert group is not None
    assert (group.members, group.hosts) == (["u1", "u2"], ["h-1"])
    assert group.max_server_per_host == 2


def test_a_group_without_members_is_empty() -> None:
    """Also an unknown one; leaving it is fine."""
    groups = Groups()
    groups.leave("g", "u1")
    group = groups.group_of(REQUEST)
    assert group is not None
    assert (group.members, group.hosts) == ([], [])


def test_most_requests_are_in_no_group() -> None:
    """And get none."""
    assert Groups().group_of(Request(0.0, "small", (1.0,))) is None
