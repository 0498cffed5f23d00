"""Services: heartbeats, state, the agent of each host, and changes by operators."""

import dataclasses
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from armillary.service_history import CURRENT_VERSION
from conductor.common.cell_db import models
from objects.hosts.agent_run import AgentRun
from objects.hosts.host_answers import ServiceChanges
from objects.hosts.service import Service
from tests.fixtures.cell import Cell, a_build_request, a_node, counted_statements, node_uuid
from tests.fixtures.messages.direct_bus import Killed

DISABLED = "COMPUTE_STATUS_DISABLED"
AWAY = exception.DatabaseUnavailable(name="placement", reason="it restarts")


def report(cell: Cell, agent: str, *hosts: str, version: int = CURRENT_VERSION) -> None:
    cell.services.report(agent, hosts, {}, version=version)


def service(cell: Cell, host: str) -> Service:
    return next(
        found for found in cell.services.list_services(admin_context()) if found.host == host
    )


def update(cell: Cell, host: str, **values: Any) -> Service:
    return cell.services.update_service(
        admin_context(), service(cell, host).uuid, ServiceChanges(**values)
    )


def pushed(cell: Cell, host: str, attribute: str) -> Any:
    batch = cell.updates.get(0)
    return batch.attributes[attribute][batch.hosts.index(host)]


# Signs of life


def test_the_first_report_makes_the_record(cell: Cell) -> None:
    """Known, up, enabled, carried by the agent that reported."""
    report(cell, "agent-1", "a", "b", version=7)
    made = service(cell, "b")
    assert (made.agent, made.binary, made.version) == ("agent-1", "armillary-compute", 7)
    assert (made.up, made.disabled, made.report_count) == (True, False, 1)


def test_every_report_counts(cell: Cell) -> None:
    """Count, moment and version are those of the last one."""
    report(cell, "agent-1", "a")
    cell.clock.advance(10)
    report(cell, "agent-1", "a", version=2)
    made = service(cell, "a")
    assert (made.report_count, made.version) == (2, 2)
    assert made.last_seen_up is not None
    assert made.last_seen_up.timestamp() == cell.clock()


def test_schedulers_learn_of_another_version(cell: Cell) -> None:
    """Request filters may wait for the last old agent; reports without a change tell nothing."""
    cell.add_agent("a")
    seq = cell.updates.get(0).last_seq
    report(cell, service(cell, "a").agent or "", "a", version=service(cell, "a").version)
    assert cell.updates.get(seq).hosts == []
    report(cell, service(cell, "a").agent or "", "a", version=7)
    assert cell.updates.get(seq).attributes["service_version"] == [7]


def test_new_services_start_disabled_where_operators_want_it(cell: Cell) -> None:
    """``enable_new_services`` is off; the node's provider has the trait from the start."""
    cell.conf.set_override("enable_new_services", False)
    cell.add_agent("a")
    made = service(cell, "a")
    assert made.disabled
    assert "enable_new_services" in str(made.disabled_reason)
    assert DISABLED in cell.placement.providers[node_uuid("a")]["traits"]


def test_a_host_of_an_agent_that_lives_is_not_given_to_another(cell: Cell) -> None:
    """Conflict names host and both agents, and nothing of the report is stored."""
    report(cell, "agent-1", "a")
    with pytest.raises(exception.Conflict, match=r"a is managed by agent agent-1.*agent-2"):
        report(cell, "agent-2", "new", "a")
    assert [found.host for found in cell.services.list_services(admin_context())] == ["a"]
    assert service(cell, "a").agent == "agent-1"


def test_a_host_of_an_agent_that_fell_silent_is_taken_over(cell: Cell) -> None:
    """After the down time anybody may carry it, under any name."""
    report(cell, "agent-1", "a")
    cell.clock.advance(61)
    report(cell, "agent-2", "a")
    assert service(cell, "a").agent == "agent-2"


def test_a_host_that_is_forced_down_still_belongs_to_the_agent_that_lives(cell: Cell) -> None:
    """Else the two would take it from each other for ever."""
    report(cell, "agent-1", "a")
    update(cell, "a", forced_down=True)
    with pytest.raises(exception.Conflict):
        report(cell, "agent-2", "a")


@pytest.mark.parametrize(
    ("agent", "host"),
    [
        ("", "a"),
        ("agent", ""),
        ("agent", "x" * 256),
        ("agent", "two\nlines"),
        ("agent", ".."),
        ("a/b", "a"),
    ],
    ids=["no-agent", "no-host", "too-long", "two-lines", "a-folder", "a-path"],
)
def test_names_out_of_bounds_are_refused(cell: Cell, agent: str, host: str) -> None:
    """Names of hosts are parts of lines, files and addresses of pages."""
    with pytest.raises(exception.Invalid, match="name of an agent or host"):
        report(cell, agent, host)


def test_a_report_of_too_many_hosts_is_refused(cell: Cell) -> None:
    """Everything has a bound."""
    with pytest.raises(exception.Invalid, match="at most 10000"):
        report(cell, "agent", *(f"h{number}" for number in range(10_001)))


def test_a_heartbeat_of_a_thousand_hosts_takes_as_many_statements_as_one_of_ten(cell: Cell) -> None:
    """A fixed number, and few: ten thousand hosts report every ten seconds."""
    counts = []
    for agent, number in (("few", 10), ("many", 1000)):
        hosts = [f"{agent}-{index}" for index in range(number)]
        report(cell, agent, *hosts)
        with counted_statements(cell.database) as statements:
            cell.services.report(agent, hosts, {"x": 1, "y": 1}, version=CURRENT_VERSION)
        counts.append(len(statements))
    assert counts[0] == counts[1] <= 3


def test_a_heartbeat_alone_changes_no_host_state(cell: Cell) -> None:
    """The sequence stands still."""
    cell.add_agent("a")
    before = cell.updates.get(0).last_seq
    for _ in range(5):
        cell.clock.advance(10)
        report(cell, "a", "a")
    cell.services.watch()
    assert cell.updates.get(0).last_seq == before


# Who is up


@pytest.mark.parametrize(
    ("seconds", "up"),
    [(60, True), (61, False), (-60, True), (-61, False)],
    ids=["just-fresh", "stale", "ahead-within", "too-far-ahead"],
)
def test_up_is_seen_within_the_down_time_whichever_clock_is_ahead(
    cell: Cell, seconds: float, up: bool
) -> None:
    """The distance counts, not its sign."""
    report(cell, "a", "a")
    cell.clock.advance(seconds)
    assert service(cell, "a").up is up


def test_going_down_is_a_change_that_schedulers_hear_of(cell: Cell) -> None:
    """Noticed by the periodic look, not by anybody's report."""
    cell.add_agent("a")
    cell.add_agent("b")
    before = cell.updates.get(0).last_seq
    cell.silence("a")
    assert cell.services.watch() == 1
    batch = cell.updates.get(before)
    assert (batch.hosts, batch.attributes["service_up"]) == (["a"], [False])


def test_no_host_goes_down_while_the_conductor_receives_nothing(cell: Cell) -> None:
    """It is checked when it can hear again; who comes up meanwhile is up."""
    for name in ("a", "b"):
        cell.add_agent(name)
    cell.silence("b")
    cell.services.watch()
    cell.hears_well = False
    cell.silence("a")
    assert cell.services.watch() == 0
    report(cell, "b", "b")
    assert pushed(cell, "b", "service_up") is True
    cell.hears_well = True
    assert cell.services.watch() == 1


def test_going_down_is_noted_once(cell: Cell) -> None:
    """A second look, or a second conductor, finds it noted."""
    cell.add_agent("a")
    cell.silence("a")
    cell.services.watch()
    before = cell.updates.get(0).last_seq
    assert cell.services.watch() == 0
    assert cell.updates.get(0).last_seq == before


def test_coming_back_is_a_change_at_the_first_heartbeat(cell: Cell) -> None:
    """No look is needed."""
    cell.add_agent("a")
    cell.silence("a")
    cell.services.watch()
    before = cell.updates.get(0).last_seq
    report(cell, "a", "a")
    batch = cell.updates.get(before)
    assert (batch.hosts, batch.attributes["service_up"]) == (["a"], [True])


def test_a_host_that_was_down_is_up_when_its_agent_has_settled_it(cell: Cell) -> None:
    """Before, workloads of deleted or evacuated instances may still run there."""
    run = AgentRun("run-1")
    unsettled = dataclasses.replace(run, is_settled=False)

    def heartbeat(of: AgentRun) -> None:
        cell.services.report("agent-1", ["a"], {}, version=CURRENT_VERSION, run=of)

    heartbeat(unsettled)
    assert service(cell, "a").up  # a new host has nothing that could be left over
    cell.clock.advance(cell.conf.service_down_time + 1)
    heartbeat(unsettled)
    assert not service(cell, "a").up
    heartbeat(run)
    assert service(cell, "a").up
    heartbeat(unsettled)
    assert service(cell, "a").up  # it was not down meanwhile


def test_more_than_a_batch_of_hosts_may_go_down_together(cell: Cell) -> None:
    """A rack loses power: all are noted in one look."""
    report(cell, "rack", *(f"h{number}" for number in range(1200)))
    cell.clock.advance(61)
    assert cell.services.watch() == 1200
    assert {row.is_up for row in cell.rows(models.Service)} == {False}


def test_a_heartbeat_of_a_host_forced_down_does_not_bring_it_up(cell: Cell) -> None:
    """Until an operator says so."""
    cell.add_agent("a")
    update(cell, "a", forced_down=True)
    report(cell, "a", "a")
    assert cell.services.watch() == 0
    assert pushed(cell, "a", "service_up") is False
    assert service(cell, "a").up is False


def test_a_host_no_longer_forced_down_is_up_immediately(cell: Cell) -> None:
    """Its agent was alive all the time."""
    cell.add_agent("a")
    update(cell, "a", forced_down=True)
    assert update(cell, "a", forced_down=False).up
    assert pushed(cell, "a", "service_up") is True


# What operators change


def test_disabling_sets_the_trait_and_tells_schedulers(cell: Cell) -> None:
    """With its reason; enabling takes all of it back."""
    cell.add_agent("a")
    made = update(cell, "a", disabled=True, disabled_reason="maintenance")
    assert (made.disabled, made.disabled_reason) == (True, "maintenance")
    assert DISABLED in cell.placement.providers[node_uuid("a")]["traits"]
    assert pushed(cell, "a", "service_disabled") is True
    made = update(cell, "a", disabled=False)
    assert (made.disabled, made.disabled_reason) == (False, None)
    assert DISABLED not in cell.placement.providers[node_uuid("a")]["traits"]
    assert pushed(cell, "a", "service_disabled") is False


def test_disabling_while_placement_is_away_is_told_later(cell: Cell) -> None:
    """The change stands; the periodic task brings placement after it."""
    cell.add_agent("a")
    cell.top_bus.fail("set_trait", AWAY)
    assert update(cell, "a", disabled=True).disabled
    assert DISABLED not in cell.placement.providers[node_uuid("a")]["traits"]
    assert cell.providers.confirm_pending() == 1
    assert DISABLED in cell.placement.providers[node_uuid("a")]["traits"]


def test_disabling_tells_placement_once(cell: Cell) -> None:
    """What set_trait did needs no confirmation by the periodic task."""
    cell.add_agent("a")
    update(cell, "a", disabled=True)
    assert cell.providers.confirm_pending() == 0


def test_disabling_does_not_hide_that_placement_lacks_the_inventory(cell: Cell) -> None:
    """What was pending before is pending after."""
    cell.add_agent("a")
    cell.top_bus.fail("set_providers", AWAY)
    cell.nodes.report_compute_nodes(
        admin_context(), "a", [a_node("a", traits=["COMPUTE_NODE", "HW_CPU_X86_AVX"])]
    )
    update(cell, "a", disabled=True)
    assert cell.providers.confirm_pending() == 1
    traits = cell.placement.providers[node_uuid("a")]["traits"]
    assert {DISABLED, "HW_CPU_X86_AVX"} <= set(traits)


def test_what_a_change_does_not_name_stays(cell: Cell) -> None:
    """Each field by itself."""
    cell.add_agent("a")
    update(cell, "a", disabled=True, disabled_reason="maintenance")
    changed = update(cell, "a", forced_down=True)
    assert (changed.disabled, changed.disabled_reason) == (True, "maintenance")
    assert update(cell, "a", disabled=False).forced_down


def test_changing_an_unknown_service_is_an_error(cell: Cell) -> None:
    """The UUID is named."""
    with pytest.raises(exception.ServiceNotFound, match="no-such"):
        cell.services.update_service(admin_context(), "no-such", ServiceChanges(disabled=True))


# Removal


def test_deleting_a_service_removes_nodes_and_providers_and_tells_schedulers(cell: Cell) -> None:
    """Returns the host; nothing of it is left."""
    cell.add_agent("a")
    cell.add_agent("b")
    before = cell.updates.get(0).last_seq
    assert cell.services.delete_service(admin_context(), service(cell, "a").uuid) == "a"
    assert [found.host for found in cell.services.list_services(admin_context())] == ["b"]
    assert list(cell.placement.providers) == [node_uuid("b")]
    assert cell.updates.get(before).removed == [node_uuid("a")]


def test_a_provider_that_a_report_made_again_meanwhile_is_removed_too(cell: Cell) -> None:
    """It would take allocations for an unknown host."""
    cell.add_agent("a")
    provider = cell.placement.providers[node_uuid("a")]
    cell.top_bus.meanwhile(
        "delete_provider",
        lambda: cell.placement.providers.update({node_uuid("a"): provider}),
        when_done=True,
    )
    cell.services.delete_service(admin_context(), service(cell, "a").uuid)
    assert cell.placement.providers == {}


def test_a_service_with_living_instances_is_not_deleted(cell: Cell) -> None:
    """InUse names the host and one of them; nothing was removed."""
    cell.add_agent("a")
    request = a_build_request("a")
    cell.hand_over(request)
    cell.settle()
    with pytest.raises(exception.InUse, match=request.instance_uuid):
        cell.services.delete_service(admin_context(), service(cell, "a").uuid)
    assert list(cell.placement.providers) == [node_uuid("a")]


def test_a_service_whose_provider_has_allocations_is_not_deleted(cell: Cell) -> None:
    """A scheduler claimed it a moment ago, or another tool did: the record stays."""
    cell.add_agent("a")
    cell.placement.held["somebody"] = {node_uuid("a")}
    with pytest.raises(exception.InUse):
        cell.services.delete_service(admin_context(), service(cell, "a").uuid)
    assert service(cell, "a").host == "a"


def test_deleting_while_placement_is_away_removes_nothing(cell: Cell) -> None:
    """It can be asked again."""
    cell.add_agent("a")
    cell.top_bus.fail("delete_provider", AWAY)
    with pytest.raises(exception.Unavailable):
        cell.services.delete_service(admin_context(), service(cell, "a").uuid)
    assert cell.services.delete_service(admin_context(), service(cell, "a").uuid) == "a"


def test_a_deleted_host_that_reports_again_is_new(cell: Cell) -> None:
    """Its agent was still running: schedulers see a host, not a removal."""
    cell.add_agent("a")
    before = cell.updates.get(0).last_seq
    cell.services.delete_service(admin_context(), service(cell, "a").uuid)
    cell.agents["a"].heartbeat()
    cell.nodes.report_compute_nodes(admin_context(), "a", [a_node("a")])
    batch = cell.updates.get(before)
    assert (batch.node_uuids, batch.removed) == ([node_uuid("a")], [])


def test_a_host_that_reports_again_immediately_keeps_its_provider(cell: Cell) -> None:
    """The second deletion, and a repeat of the first, are of the host as it was."""
    cell.add_agent("a")
    uuid = service(cell, "a").uuid

    def report_again() -> None:
        if not cell.services.list_services(admin_context()):
            cell.agents["a"].heartbeat()
            cell.nodes.report_compute_nodes(admin_context(), "a", [a_node("a")])

    cell.top_bus.meanwhile(
        "delete_provider", lambda: cell.top_bus.meanwhile("delete_provider", report_again)
    )
    cell.services.delete_service(admin_context(), uuid)
    assert list(cell.placement.providers) == [node_uuid("a")]


def test_a_host_is_deleted_from_a_database_that_was_restored(cell: Cell) -> None:
    """Placement has seen later numbers of it, which the deletion follows on."""
    cell.add_agent("a")
    cell.placement.providers[node_uuid("a")]["order"] = 1000
    cell.services.delete_service(admin_context(), service(cell, "a").uuid)
    assert cell.placement.providers == {}
    cell.agents["a"].heartbeat()
    cell.nodes.report_compute_nodes(admin_context(), "a", [a_node("a")])
    assert cell.placement.providers[node_uuid("a")]["order"] > 1000


def traits_of(cell: Cell, host: str) -> list[str]:
    traits: list[str] = cell.placement.providers[node_uuid(host)]["traits"]
    return traits


def test_a_disable_that_comes_after_the_enable_changes_nothing(cell: Cell) -> None:
    """Another conductor was asked to enable the host, and its message was faster."""
    cell.add_agent("a")
    cell.top_bus.meanwhile("set_trait", lambda: update(cell, "a", disabled=False))
    update(cell, "a", disabled=True)
    assert DISABLED not in traits_of(cell, "a")
    assert not service(cell, "a").disabled


def test_a_report_that_comes_after_the_disable_changes_nothing(cell: Cell) -> None:
    """It says that the host is enabled, as it was when the report was made."""
    cell.add_agent("a")
    cell.clock.advance(cell.conf.cell.provider_refresh_seconds + 1)
    cell.top_bus.meanwhile("set_providers", lambda: update(cell, "a", disabled=True))
    cell.nodes.report_compute_nodes(admin_context(), "a", [a_node("a")])
    assert DISABLED in traits_of(cell, "a")
    assert cell.providers.confirm_pending() == 0


def test_a_status_is_told_again_after_a_kill_and_a_lost_message(cell: Cell) -> None:
    """Placement had the status of before the kill, which the records no longer say."""
    cell.add_agent("a")

    def die() -> None:
        raise Killed

    cell.top_bus.meanwhile("set_trait", die, when_done=True)
    with pytest.raises(Killed):
        update(cell, "a", disabled=True)
    cell.top_bus.fail("set_trait", AWAY)
    update(cell, "a", disabled=False)
    assert DISABLED in traits_of(cell, "a")
    assert cell.providers.confirm_pending() == 1
    assert DISABLED not in traits_of(cell, "a")


def test_a_conductor_that_was_slow_confirms_nothing_of_later_changes(cell: Cell) -> None:
    """The host is as it was told then, but placement is not: a message in between got there."""
    cell.add_agent("a")

    def enable_and_disable() -> None:
        update(cell, "a", disabled=False)
        cell.top_bus.fail("set_trait", AWAY)
        update(cell, "a", disabled=True)

    cell.top_bus.meanwhile("set_trait", enable_and_disable, when_done=True)
    update(cell, "a", disabled=True)
    assert DISABLED not in traits_of(cell, "a")
    assert cell.providers.confirm_pending() == 1
    assert DISABLED in traits_of(cell, "a")


def test_a_cell_that_was_restored_from_a_backup_is_heard(cell: Cell) -> None:
    """Placement has seen numbers of each host that the cell has yet to give: it follows on them."""
    orders = {"a": 2000, "b": 1000}
    for host, last in orders.items():
        cell.add_agent(host)
        cell.placement.providers[node_uuid(host)]["order"] = last
    for host in orders:
        update(cell, host, disabled=True)
        assert DISABLED not in traits_of(cell, host)
    assert [cell.providers.confirm_pending() for _time in range(3)] == [2, 2, 0]
    assert all(DISABLED in traits_of(cell, host) for host in orders)
    assert cell.updates.get(0).last_seq > max(orders.values())
