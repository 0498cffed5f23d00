"""Attempts: what each of them leaves in the records that users and administrators see."""

from conductor.common.cell_db import actions, faults
from objects.instances.build_request import BuildRequest
from objects.instances.instance_action import InstanceAction
from objects.instances.instance_fault import InstanceFault
from tests.fixtures.cell import Cell, a_build_request, node_uuid


def build(cell: Cell, *hosts: str) -> BuildRequest:
    for host in hosts:
        cell.add_agent(host)
    request = a_build_request(*hosts)
    cell.hand_over(request)
    cell.settle()
    return request


def events_of(cell: Cell, request: BuildRequest) -> list[tuple[object, ...]]:
    return [
        (event.event, event.host, event.attempt, event.result)
        for event in the_action(cell, request).events
    ]


def the_action(cell: Cell, request: BuildRequest) -> InstanceAction:
    [action] = cell.database.read(actions.list_of, request.instance_uuid)
    return action


def faults_of(cell: Cell, request: BuildRequest) -> list[InstanceFault]:
    return cell.database.read(faults.list_of, request.instance_uuid)


def test_a_build_that_succeeds_leaves_a_finished_action_and_no_fault(cell: Cell) -> None:
    """One action, one event, both finished well."""
    request = build(cell, "a")
    action = the_action(cell, request)
    assert (action.action, action.message) == ("create", None)
    assert events_of(cell, request) == [("compute_build_instance", "a", 1, "Success")]
    assert faults_of(cell, request) == []


def test_each_attempt_has_an_event_and_a_failed_one_a_fault(cell: Cell) -> None:
    """In their order, each with its host."""
    cell.failing["a"] = True
    request = build(cell, "a", "b")
    assert events_of(cell, request) == [
        ("compute_build_instance", "a", 1, "Error"),
        ("compute_build_instance", "b", 2, "Success"),
    ]
    assert [(fault.attempt, fault.host) for fault in faults_of(cell, request)] == [(1, "a")]


def test_a_fault_of_an_earlier_attempt_is_not_shown_of_one_that_runs(cell: Cell) -> None:
    """The instance is well; the list of faults still has it."""
    cell.failing["a"] = True
    request = build(cell, "a", "b")
    assert cell.get(request.instance_uuid).fault is None


def test_a_refused_alternate_is_an_event_and_no_attempt(cell: Cell) -> None:
    """Builds are counted, not refused claims."""
    cell.failing["a"] = True
    cell.placement.full.add(node_uuid("b"))
    request = build(cell, "a", "b", "c")
    assert events_of(cell, request) == [
        ("compute_build_instance", "a", 1, "Error"),
        ("conductor_claim_alternate", "b", 2, "Error"),
        ("compute_build_instance", "c", 2, "Success"),
    ]
    made = cell.get(request.instance_uuid)
    assert (made.host, made.attempt, made.availability_zone) == ("c", 2, "zone-of-c")


def test_when_all_failed_the_user_s_message_names_no_host(cell: Cell) -> None:
    """It says how many attempts failed, and why the last; the details have all of them."""
    cell.failing.update({"alpha": True, "beta": True})
    cell.placement.full.add(node_uuid("gamma"))
    request = build(cell, "alpha", "beta", "gamma")
    fault = cell.get(request.instance_uuid).fault
    assert fault is not None
    assert fault.message == (
        "Exceeded the maximum number of build attempts. "
        "2 attempts failed; no alternate host is left. Last: The build failed."
    )
    assert fault.details == (
        "attempt 1 on alpha: no space left on device; "
        "attempt 2 on beta: no space left on device; "
        "claim on gamma failed: no_capacity: it is no_capacity"
    )
    assert [fault.attempt for fault in faults_of(cell, request)] == [1, 2, 0]


def test_an_instance_whose_builds_all_failed_is_on_no_host(cell: Cell) -> None:
    """Its attempt is the last one that was made; the action failed."""
    cell.failing["a"] = True
    cell.placement.full.add(node_uuid("b"))
    request = build(cell, "a", "b")
    made = cell.get(request.instance_uuid)
    assert (made.vm_state, made.host, made.node, made.attempt) == ("error", None, None, 1)
    assert the_action(cell, request).message == "Error"


def test_an_aborted_build_ends_immediately_with_its_own_fault(cell: Cell) -> None:
    """Other hosts are pointless, says the agent: none is claimed."""
    cell.failing["a"] = False
    request = build(cell, "a", "b")
    fault = cell.get(request.instance_uuid).fault
    assert fault is not None
    assert (fault.attempt, fault.message) == (1, "The build failed.")
    assert cell.placement.claims == []


def test_a_build_that_a_delete_cuts_short_says_so(cell: Cell) -> None:
    """Its event and its action are finished, not left open."""
    cell.add_agent("a")
    request = a_build_request("a")
    cell.hand_over(request)
    cell.ask_delete(request.instance_uuid)
    delete, create = cell.database.read(actions.list_of, request.instance_uuid)
    assert (delete.action, create.message) == ("delete", "Error")
    [event] = create.events
    assert event.result == "Error"
    assert "deleted while" in str(event.details)
