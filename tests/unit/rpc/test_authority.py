"""Who may call what: as declared, and closed for what is not."""

import pytest

from api.interface import ApiAPI
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor.interface import CellConductorAPI, HostStatesAPI
from conductor.super_conductor.interface import SuperConductorAPI
from conductor.super_conductor.zones.interface import ZoneAPI, ZoneSummariesAPI
from placement.interface import PlacementAPI
from rpc import authority
from rpc.callers import AGENT_ITSELF
from rpc.signing.trust import ROLES, Identity
from scheduler.interface import SchedulerAPI
from tests.fixtures.messages.interfaces import BY_TOPIC
from tests.fixtures.signing import SCOPES

INTERFACES = tuple(BY_TOPIC.values())


def identity(role, scope=None):
    return Identity(role, role, scope or SCOPES.get(role))


@pytest.mark.parametrize("interface", INTERFACES)
def test_each_method_has_callers_of_known_roles(interface):
    """A method without a caller could be removed."""
    assert interface.SERVED_BY in ROLES
    for method in interface.METHODS.values():
        assert {caller.role for caller in method.callers} <= set(ROLES)
        assert method.callers


def test_no_scheduler_asks_a_host():
    """BZ-20: hosts push their states; who decides by these has no way to ask for more."""
    assert ComputeAPI.METHODS
    for method in ComputeAPI.METHODS:
        assert authority.refusal_reason(identity("scheduler"), ComputeAPI, None, method, {})


@pytest.mark.parametrize("interface", INTERFACES)
def test_an_agent_may_nothing_but_report_of_itself(interface):
    """With its own name as the argument nothing else opens; with another's not even that."""
    agent = identity("compute")
    assert interface.METHODS or interface is ApiAPI  # it only receives trust lists
    for name, method in interface.METHODS.items():
        own = authority.refusal_reason(agent, interface, None, name, {"agent": agent.scope})
        others = authority.refusal_reason(agent, interface, None, name, {"agent": "host2"})
        if AGENT_ITSELF in method.callers:
            assert interface is CellConductorAPI
            assert own is None
            assert others is not None
        elif name == "object_backport_versions":
            assert own is None
        else:
            assert own is not None


def test_a_zone_pushes_its_own_summary_alone():
    """A child that was taken over speaks for itself, not for its brothers."""

    def refusal_reason(zone):
        summary = {"armillary_object.data": {"zone": zone}}
        return authority.refusal_reason(
            identity("child_zone"), ZoneSummariesAPI, None, "update_summary", {"summary": summary}
        )

    assert refusal_reason(SCOPES["child_zone"]) is None
    assert refusal_reason("another") is not None


def test_a_parent_reaches_the_border_and_nothing_behind_it():
    parent = identity("parent_zone")
    allowed = {
        (interface, method)
        for interface in INTERFACES
        for method in interface.METHODS
        if authority.refusal_reason(parent, interface, None, method, {}) is None
    }
    assert allowed == {(ZoneAPI, method) for method in ZoneAPI.METHODS}


def test_a_cell_conductor_pushes_the_hosts_of_its_own_cell():
    def refusal_reason(cell_uuid):
        batch = {"armillary_object.data": {"cell_uuid": cell_uuid}}
        return authority.refusal_reason(
            identity("cell_conductor"), SchedulerAPI, None, "update_host_states", {"batch": batch}
        )

    assert refusal_reason(SCOPES["cell_conductor"]) is None
    assert refusal_reason("another") is not None


@pytest.mark.parametrize(
    "method", ["execute_in_other_cell", "hand_over_instance", "end_cell_change"]
)
def test_a_cell_conductor_speaks_to_another_cell_for_its_own(method):
    def refusal_reason(cell_uuid):
        arguments = {"cell_uuid": cell_uuid}
        return authority.refusal_reason(
            identity("cell_conductor"), SuperConductorAPI, None, method, arguments
        )

    assert refusal_reason(SCOPES["cell_conductor"]) is None
    assert refusal_reason("another") is not None


@pytest.mark.parametrize("arguments", [{}, {"batch": None}, {"batch": {}}, {"batch": 7}])
def test_arguments_out_of_shape_are_of_no_cell(arguments):
    assert authority.refusal_reason(
        identity("cell_conductor"), SchedulerAPI, None, "update_host_states", arguments
    )


def test_what_is_not_declared_may_be_called_by_no_role():
    for role in ROLES:
        who = identity(role)
        assert authority.refusal_reason(who, PlacementAPI, None, "drop_everything", {})
        assert authority.refusal_reason(who, PlacementAPI, None, "claim", {})  # a convenience
        assert authority.refusal_reason(who, PlacementAPI, "baseapi", "claim_batch", {})
        assert authority.refusal_reason(who, PlacementAPI, "baseapi", "ping", {}) is None


@pytest.mark.parametrize(
    ("role", "interface", "server", "is_believed"),
    [
        ("placement", PlacementAPI, None, True),
        ("scheduler", PlacementAPI, None, False),
        ("compute", PlacementAPI, None, False),
        ("compute", ComputeAPI, "host1", True),
        ("compute", ComputeAPI, "host2", False),
        ("cell_conductor", HostStatesAPI, SCOPES["cell_conductor"], True),
        ("cell_conductor", HostStatesAPI, "another", False),
    ],
)
def test_an_answer_is_of_who_serves(role, interface, server, is_believed):
    assert authority.may_answer(interface, identity(role), server) is is_believed
