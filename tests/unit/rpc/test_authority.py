"""The table of who may call what: whole, and closed for what it does not name."""

from __future__ import annotations

import pytest

from compute_agent.manager import ComputeManager
from conductor.cell_conductor import manager
from conductor.super_conductor import endpoints
from conductor.super_conductor.endpoints.zone import ZoneEndpoint
from placement.manager import PlacementManager
from rpc import authority
from rpc.signing.trust import ROLES, Identity
from scheduler.manager import SchedulerManager
from scheduler.zones.links import SummaryEndpoint
from tests.fixtures.signing import SCOPES
from tests.unit.rpc.exposed import exposed_by, exposed_by_modules

SERVED = {
    "api": set(),
    "compute": exposed_by(ComputeManager),
    "scheduler": exposed_by(SchedulerManager),
    "placement": exposed_by(PlacementManager),
    "cell_conductor": exposed_by(manager.CellConductorManager),
    "host_states": exposed_by(manager.HostStatesEndpoint),
    "conductor": exposed_by_modules(endpoints) - exposed_by(ZoneEndpoint),
    "zone": exposed_by(ZoneEndpoint),
    "zone_summaries": exposed_by(SummaryEndpoint),
}
OF_AGENTS = {
    method
    for method, allowed in authority.TABLE["cell_conductor"].items()
    if authority.AGENT_ITSELF in allowed
}


def identity(role, scope=None):
    return Identity(role, role, scope or SCOPES.get(role))


@pytest.mark.parametrize("topic", SERVED)
def test_each_method_that_is_served_has_its_row(topic):
    """And none has a row that is not served: a method without one is nobody's."""
    assert SERVED[topic] or topic == "api"
    assert set(authority.TABLE[topic]) == SERVED[topic]


def test_the_services_are_all_in_the_table():
    assert set(authority.TABLE) == set(authority.SERVED_BY) == set(SERVED)
    assert set(authority.SERVED_BY.values()) <= set(ROLES)


def test_no_scheduler_asks_a_host():
    """BZ-20: hosts push their states; who decides by these has no way to ask for more."""
    for method in SERVED["compute"]:
        assert authority.refusal_reason(identity("scheduler"), "compute", "host1", method, {})


@pytest.mark.parametrize("topic", SERVED)
def test_an_agent_may_nothing_but_report_of_itself(topic):
    """With its own name as the argument nothing else opens; with another's not even that."""
    agent = identity("compute")
    for method in SERVED[topic]:
        own = authority.refusal_reason(agent, topic, None, method, {"agent": agent.scope})
        others = authority.refusal_reason(agent, topic, None, method, {"agent": "host2"})
        if topic == "cell_conductor" and method in OF_AGENTS:
            assert own is None
            assert others is not None
        elif method == "object_backport_versions":
            assert own is None
        else:
            assert own is not None


def test_a_zone_pushes_its_own_summary_alone():
    """A child that was taken over speaks for itself, not for its brothers."""

    def refusal_reason(zone):
        summary = {"armillary_object.data": {"zone": zone}}
        return authority.refusal_reason(
            identity("child_zone"), "zone_summaries", None, "update_summary", {"summary": summary}
        )

    assert refusal_reason(SCOPES["child_zone"]) is None
    assert refusal_reason("another") is not None


def test_a_parent_reaches_the_border_and_nothing_behind_it():
    parent = identity("parent_zone")
    allowed = {
        (topic, method)
        for topic, methods in authority.TABLE.items()
        for method in methods
        if authority.refusal_reason(parent, topic, None, method, {}) is None
    }
    assert allowed == {("zone", method) for method in SERVED["zone"]}


def test_a_cell_conductor_pushes_the_hosts_of_its_own_cell():
    def refusal_reason(cell_uuid):
        batch = {"armillary_object.data": {"cell_uuid": cell_uuid}}
        return authority.refusal_reason(
            identity("cell_conductor"), "scheduler", None, "update_host_states", {"batch": batch}
        )

    assert refusal_reason(SCOPES["cell_conductor"]) is None
    assert refusal_reason("another") is not None


@pytest.mark.parametrize("method", ["order_in_other_cell", "hand_over_instance", "end_cell_change"])
def test_a_cell_conductor_speaks_to_another_cell_for_its_own(method):
    def refusal_reason(cell_uuid):
        arguments = {"cell_uuid": cell_uuid}
        return authority.refusal_reason(
            identity("cell_conductor"), "conductor", None, method, arguments
        )

    assert refusal_reason(SCOPES["cell_conductor"]) is None
    assert refusal_reason("another") is not None


@pytest.mark.parametrize("arguments", [{}, {"batch": None}, {"batch": {}}, {"batch": 7}])
def test_arguments_out_of_shape_are_of_no_cell(arguments):
    assert authority.refusal_reason(
        identity("cell_conductor"), "scheduler", None, "update_host_states", arguments
    )


def test_what_the_table_does_not_name_is_nobodys():
    for role in ROLES:
        assert authority.refusal_reason(identity(role), "placement", None, "drop_everything", {})
        assert authority.refusal_reason(identity(role), "nowhere", None, "claim", {})
        assert authority.refusal_reason(identity(role), "placement", "baseapi", "claim", {})
        assert authority.refusal_reason(identity(role), "placement", "baseapi", "ping", {}) is None


@pytest.mark.parametrize(
    ("role", "topic", "server", "is_believed"),
    [
        ("placement", "placement", None, True),
        ("scheduler", "placement", None, False),
        ("compute", "placement", None, False),
        ("compute", "compute", "host1", True),
        ("compute", "compute", "host2", False),
        ("placement", "nowhere", None, False),
    ],
)
def test_an_answer_is_of_who_serves(role, topic, server, is_believed):
    assert authority.may_answer(identity(role), topic, server) is is_believed
