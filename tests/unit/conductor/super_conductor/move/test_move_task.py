"""Tests of finding hosts for an instance that is to move, whatever breaks on the way."""

import oslo_messaging
import pytest
import sqlalchemy as sa

from armillary import exception
from conductor.super_conductor.db import models, moves, traces
from conductor.super_conductor.move import move_task
from objects.allocations.fence import TRIES_MAX, Fence, FenceStep
from objects.instances.instance_fault import InstanceFault
from tests.fixtures.control_plane import ControlPlane
from tests.fixtures.messages.direct_bus import moments
from tests.unit.conductor.super_conductor.move.moves import (
    an_instance,
    assert_as_before,
    assert_moved,
    migration_of,
    node_of,
    start,
    the_cell,
)

STEPS = [step.name for step in move_task.STEPS]
EFFECTS_MAX = 40
TIMEOUT = oslo_messaging.MessagingTimeout("no answer")
OPERATIONS = ["resize", "migrate", "live_migrate", "evacuate", "unshelve"]
WAYS = ["resize", "evacuate", "unshelve"]
"""One of each way: its migration holds the source; its cell claims; it holds nothing."""


def no_valid_host() -> exception.NoValidHost:
    return exception.NoValidHost(reason="2 of 2 hosts lack VCPU")


@pytest.fixture(autouse=True)
def large(plane: ControlPlane) -> None:
    """Have a flavor to resize to."""
    plane.add_flavor("large", vcpus=4, memory_mb=2048)
    plane.map_hosts()


# The way it should go


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_move_ends_in_its_cell(plane: ControlPlane, operation: str) -> None:
    """Begun there, scheduled, gone on with; each consumer holds what the table says."""
    uuid = an_instance(plane, operation)
    start(plane, uuid, operation)
    assert the_cell(plane).moving.keys() == {uuid}
    plane.workers.work()
    assert_moved(plane, uuid, operation)


def test_the_scheduler_is_asked_for_the_new_size(plane: ControlPlane) -> None:
    """In the instance's cell, not on its host, without what was forced at its creation."""
    uuid = an_instance(plane)
    start(plane, uuid, "resize")
    plane.workers.work()
    (spec,) = plane.scheduler.specs
    assert (spec.flavor.name, spec.num_instances, spec.instance_uuid) == ("large", 1, uuid)
    assert (spec.ignore_hosts, spec.force_hosts) == (["cell1-host1"], [])
    assert spec.requested_destination is not None
    assert spec.requested_destination.cell_uuid == the_cell(plane).uuid


def test_the_cell_gets_hosts_with_alternates_and_the_spec(plane: ControlPlane) -> None:
    """It goes on by itself from there."""
    uuid = an_instance(plane)
    start(plane, uuid, "resize")
    plane.workers.work()
    facts = the_cell(plane).outcomes[migration_of(plane)]
    assert isinstance(facts, dict)
    assert facts["selections"][0].service_host == "cell1-host2"
    assert facts["request_spec"].flavor.name == "large"


def test_claims_are_fenced_above_the_hold(plane: ControlPlane) -> None:
    """Both lie in the row of fences that the cell gave the operation."""
    uuid = an_instance(plane)
    plane.scheduler.fences.clear()
    start(plane, uuid, "migrate")
    plane.workers.work()
    row = int(Fence.of_operation(1))
    assert plane.scheduler.fences == [row + 1]
    assert plane.placement.fences[migration_of(plane)] == row
    assert plane.placement.fences[uuid] == row + 1


def test_an_evacuation_claims_nothing_here(plane: ControlPlane) -> None:
    """The instance holds both ends: its cell adds the new one to what it has."""
    uuid = an_instance(plane, "evacuate")
    held: list[dict[str, set[str]]] = []
    plane.scheduler.before = lambda: held.append(dict(plane.placement.held))
    start(plane, uuid, "evacuate")
    the_cell(plane).placement = plane.placement
    plane.workers.work()
    assert held == [{uuid: plane.placement.held[uuid]}]


def test_an_instance_that_holds_nothing_moves_all_the_same(plane: ControlPlane) -> None:
    """Placement lost it; the move puts that right."""
    uuid = an_instance(plane)
    plane.placement.held.clear()
    start(plane, uuid, "live_migrate")
    plane.workers.work()
    assert plane.placement.held == {uuid: {node_of(plane, "cell1-host2")}}


# It is refused


def test_a_refusal_of_the_cell_reaches_the_caller(plane: ControlPlane) -> None:
    """And nothing is stored, scheduled or held."""
    uuid = an_instance(plane)
    the_cell(plane).refusal = exception.InstanceInvalidState(
        instance_uuid=uuid, operation="migrate", reason="it is paused"
    )
    with pytest.raises(exception.InstanceInvalidState, match="it is paused"):
        start(plane, uuid, "migrate")
    assert plane.left() == []
    plane.workers.work()
    assert plane.scheduler.specs == []
    assert_as_before(plane, uuid, "migrate")


def test_a_second_move_is_refused(plane: ControlPlane) -> None:
    """While hosts are looked for; the first goes on."""
    uuid = an_instance(plane)
    start(plane, uuid, "migrate")
    with pytest.raises(exception.InstanceInvalidState, match="it is already being moved"):
        start(plane, uuid, "live_migrate")
    plane.workers.work()
    assert_moved(plane, uuid, "migrate")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_without_a_host_all_is_as_before(plane: ControlPlane, operation: str) -> None:
    """The cell is told why; users are told no more than that, administrators the details."""
    uuid = an_instance(plane, operation)
    plane.scheduler.error = no_valid_host()
    start(plane, uuid, operation)
    plane.workers.work()
    assert_as_before(plane, uuid, operation)
    fault = the_cell(plane).outcomes[migration_of(plane)]
    assert isinstance(fault, InstanceFault)
    assert fault.message == "No valid host was found. There are not enough hosts available."
    assert fault.details == "2 of 2 hosts lack VCPU"


def test_a_source_that_cannot_be_held_ends_the_move(plane: ControlPlane) -> None:
    """Another conductor wrote to the instance's allocation with a later fence."""
    uuid = an_instance(plane)
    plane.placement.fences[uuid] = int(Fence.of_operation(10_000))
    start(plane, uuid, "migrate")
    plane.workers.work()
    assert isinstance(the_cell(plane).outcomes[migration_of(plane)], InstanceFault)
    assert_as_before(plane, uuid, "migrate")
    assert plane.scheduler.specs == []


def test_a_move_that_cannot_be_scheduled_is_given_up(plane: ControlPlane) -> None:
    """After [conductor] scheduling_deadline_seconds, with what was claimed given back."""
    uuid = an_instance(plane)
    plane.bus.fail("select_destinations", TIMEOUT, when_done=True, times=1000)
    start(plane, uuid, "migrate")
    plane.settle()
    assert_as_before(plane, uuid, "migrate")
    fault = the_cell(plane).outcomes[migration_of(plane)]
    assert isinstance(fault, InstanceFault)
    assert fault.message == "The request could not be scheduled in time."


# Something breaks


@pytest.mark.parametrize("operation", WAYS)
@pytest.mark.parametrize("error", [None, no_valid_host()], ids=["moved", "no host"])
def test_a_conductor_may_be_killed_at_any_effect(
    plane: ControlPlane, operation: str, error: Exception | None
) -> None:
    """Before and after messages and transactions; another one goes on, nothing is lost."""
    plane.scheduler.error = None
    for effect in moments(f"{operation} {error}"):
        assert effect < EFFECTS_MAX
        plane.scheduler.error = None
        uuid = an_instance(plane, operation)
        plane.scheduler.error = error

        def work(uuid: str = uuid) -> None:
            start(plane, uuid, operation)
            plane.workers.work()

        was_killed = plane.killed_at(effect, work)
        plane.settle()
        outcomes = list(the_cell(plane).outcomes.values())
        assert_decided_once(plane, uuid, is_decided=bool(outcomes))
        if not outcomes:  # killed before anything was stored
            assert_as_before(plane, uuid, operation)
        elif error is None:
            assert_moved(plane, uuid, operation)
        else:
            assert_as_before(plane, uuid, operation)
        forget(plane, uuid)
        if not was_killed:
            return


def assert_decided_once(plane: ControlPlane, uuid: str, *, is_decided: bool) -> None:
    """What it shows of the move is the decision that its cell went on with."""
    decided = plane.database.read(traces.list_move_traces, uuid)
    if not is_decided:
        assert decided == []
        return
    (one,) = decided
    outcome = the_cell(plane).outcomes[one.migration_uuid]
    if isinstance(outcome, InstanceFault):
        assert (one.host, one.sentence) == (None, outcome.details)
    else:
        assert (one.host, one.sentence) == (outcome["selections"][0].service_host, None)


def forget(plane: ControlPlane, uuid: str) -> None:
    """Let the next round begin with nothing."""
    cell = the_cell(plane)
    cell.outcomes.clear()
    cell.holding.clear()
    plane.delete(uuid)
    plane.placement.held.clear()
    plane.scheduler.specs.clear()


def test_an_answer_that_never_came_is_asked_for_again(plane: ControlPlane) -> None:
    """The scheduler had claimed: the claim is released first, the next one has a higher fence."""
    uuid = an_instance(plane)
    plane.scheduler.fences.clear()
    plane.bus.fail("select_destinations", TIMEOUT, when_done=True)
    start(plane, uuid, "migrate")
    plane.settle()
    assert_moved(plane, uuid, "migrate")
    row = int(Fence.of_operation(1))
    assert plane.scheduler.fences == [row + 1, row + 3]


def test_a_claim_that_comes_too_late_is_refused(plane: ControlPlane) -> None:
    """A scheduler that was given up on claims with the old fence: it changes nothing."""
    uuid = an_instance(plane)
    plane.bus.fail("select_destinations", TIMEOUT)
    start(plane, uuid, "migrate")
    plane.workers.work()
    plane.scheduler.error = no_valid_host()
    plane.settle()
    held = dict(plane.placement.held)
    plane.placement.held.clear()  # else it would be refused for what the instance holds
    plane.scheduler.answer([uuid], [int(Fence.of_operation(1).of_try(1))])
    assert plane.placement.held == {}
    plane.placement.held = held
    assert_as_before(plane, uuid, "migrate")


def test_one_that_was_tried_too_often_is_given_up(plane: ControlPlane) -> None:
    """No try shares a fence with another one, or with what its cell claims: so they are counted."""
    uuid = an_instance(plane)
    plane.conf.set_override("scheduling_deadline_seconds", 86_400, group="conductor")
    plane.bus.fail("select_destinations", TIMEOUT, when_done=True, times=100)
    plane.scheduler.fences.clear()
    start(plane, uuid, "migrate")
    with plane.database.writer() as session:
        session.execute(sa.update(models.Move).values(takes=TRIES_MAX - 2))
    plane.settle()
    assert_as_before(plane, uuid, "migrate")
    fault = the_cell(plane).outcomes[migration_of(plane)]
    assert isinstance(fault, InstanceFault)
    assert fault.details == f"Not scheduled after {TRIES_MAX} tries"
    row = int(Fence.of_operation(1))
    used = [fence - row for fence in plane.scheduler.fences]
    assert used == sorted(set(used))
    assert len(used) == 3
    assert used[-1] + 2 <= FenceStep.ALTERNATE


@pytest.mark.parametrize("when_done", [False, True], ids=["lost", "unanswered"])
@pytest.mark.parametrize(
    "error", [TIMEOUT, RuntimeError("a bug in the cell")], ids=["timeout", "bug"]
)
def test_a_cell_that_does_not_say_whether_it_began_is_asked_again(
    plane: ControlPlane, when_done: bool, error: Exception
) -> None:
    """The caller learns that the outcome is unknown; the move comes about."""
    uuid = an_instance(plane)
    plane.bus_of(the_cell(plane)).fail("begin_operation", error, when_done=when_done)
    with pytest.raises((exception.CellUnavailable, exception.RpcFailed)):
        start(plane, uuid, "migrate")
    plane.settle()
    assert_moved(plane, uuid, "migrate")


@pytest.mark.parametrize(
    "error",
    [
        exception.InstanceInvalidState(instance_uuid="x", operation="migrate", reason="it is off"),
        exception.InstanceNotFound(instance_uuid="x"),
        exception.Invalid(reason="there is no operation 'migrate'"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_one_that_its_cell_refuses_later_is_void(plane: ControlPlane, error: Exception) -> None:
    """It was never begun there: it is not asked for again and again."""
    uuid = an_instance(plane)
    plane.bus_of(the_cell(plane)).fail("begin_operation", TIMEOUT)
    with pytest.raises(exception.CellUnavailable):
        start(plane, uuid, "migrate")
    the_cell(plane).refusal = error
    plane.settle()
    assert_as_before(plane, uuid, "migrate")


@pytest.mark.parametrize("error", [None, no_valid_host()], ids=["moved", "no host"])
def test_a_cell_that_was_told_and_did_not_say_so_is_told_once(
    plane: ControlPlane, error: Exception | None
) -> None:
    """What comes after the end of its operation is void."""
    uuid = an_instance(plane)
    plane.scheduler.error = error
    method = "continue_operation" if error is None else "fail_operation"
    plane.bus_of(the_cell(plane)).fail(method, TIMEOUT, when_done=True)
    start(plane, uuid, "live_migrate")
    plane.settle()
    (assert_moved if error is None else assert_as_before)(plane, uuid, "live_migrate")
    assert len(the_cell(plane).begun) == 1


def test_a_delete_ends_a_move(plane: ControlPlane) -> None:
    """What was to move is gone; no conductor looks for hosts any more."""
    uuid = an_instance(plane)
    start(plane, uuid, "migrate")
    plane.delete(uuid)
    the_cell(plane).moving.clear()
    plane.settle()
    plane.check()
    assert plane.scheduler.specs == []


def test_a_move_that_finds_all_workers_busy_is_left_to_recovery(plane: ControlPlane) -> None:
    """It is free immediately, for this conductor or another one."""
    uuid = an_instance(plane)
    plane.workers.are_busy = True
    start(plane, uuid, "migrate")
    plane.workers.are_busy = False
    plane.recover()
    assert_moved(plane, uuid, "migrate")


def test_a_conductor_that_was_too_slow_writes_nothing(
    plane: ControlPlane, other_plane: ControlPlane
) -> None:
    """While it waits for the scheduler another one takes over, and one host is claimed."""
    uuid = an_instance(plane)

    def overtake() -> None:
        plane.scheduler.before = lambda: None
        other_plane.clock.advance(60)
        other_plane.recover()

    plane.scheduler.before = overtake
    start(plane, uuid, "migrate")
    plane.settle()
    assert_moved(plane, uuid, "migrate")


def test_leases_of_moves_in_progress_are_renewed_and_given_back(plane: ControlPlane) -> None:
    """Leased work is not taken away; at the end of the process it is free immediately."""
    uuid = an_instance(plane)
    start(plane, uuid, "migrate")
    plane.clock.advance(plane.conf.conductor.lease_seconds - 1)
    plane.moves.keeper.renew_all()
    plane.clock.advance(plane.conf.conductor.lease_seconds - 1)
    with plane.database.reader() as session:
        assert plane.moves.leases.list_free(session, limit=1) == []
    plane.moves.keeper.release_all()
    with plane.database.reader() as session:
        ((free, _),) = plane.moves.leases.list_free(session, limit=1)
        found = moves.find(session, free)
    assert found is not None
    assert found.instance_uuid == uuid
