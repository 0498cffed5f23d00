"""Tests of deleting an instance, at any moment of its life."""

from collections.abc import Callable
from functools import partial

import oslo_messaging
import pytest

from armillary import exception
from conductor.super_conductor.builds import build_task
from conductor.super_conductor.db.catalogue import quotas
from objects.allocations.fence import FENCE_FINAL
from tests.fixtures.control_plane import ControlPlane, a_user
from tests.fixtures.messages.direct_bus import moments
from tests.fixtures.super_conductor.fake_cell_conductor import CellConductor

BUILD_STEPS = [step.name for step in (*build_task.SCHEDULE, *build_task.HAND_OVER)]
CELL0_STEPS = [step.name for step in (*build_task.SCHEDULE[:-1], *build_task.STORE_IN_CELL0)]
EFFECTS_MAX = 60
NO_HOST = exception.NoValidHost(reason="2 of 2 hosts lack VCPU")
TIMEOUT = oslo_messaging.MessagingTimeout("no answer")


def the_cell(plane: ControlPlane) -> CellConductor:
    (cell,) = plane.cells.values()
    return cell


def deleting_before(plane: ControlPlane, step: str, uuids: list[str]) -> Callable[[str], None]:
    """Return a watch that deletes the first of ``uuids`` before a step."""

    def watch(name: str) -> None:
        if name == step and uuids:
            plane.delete(uuids.pop(0))

    return watch


def assert_gone(plane: ControlPlane, uuid: str) -> None:
    assert plane.places(uuid) == []
    assert uuid not in plane.placement.held
    with pytest.raises(exception.InstanceNotFound):
        plane.servers.get_server(a_user(), uuid)


def test_an_active_instance_is_deleted_in_its_cell(plane: ControlPlane) -> None:
    """The cell is told immediately."""
    kept, gone = plane.build(2)
    plane.delete(gone)
    assert_gone(plane, gone)
    plane.check(kept)


def test_an_instance_in_cell0_is_deleted_immediately(plane: ControlPlane) -> None:
    """cell0 is the super conductor's own."""
    plane.scheduler.error = NO_HOST
    (uuid,) = plane.build()
    plane.delete(uuid)
    assert_gone(plane, uuid)
    plane.check()


@pytest.mark.parametrize("step", BUILD_STEPS)
def test_a_delete_before_any_step_leaves_nothing(plane: ControlPlane, step: str) -> None:
    """Its siblings of the same request live."""
    uuids = plane.create(3)
    gone = uuids[0]
    plane.before_step = deleting_before(plane, step, uuids[:1])
    plane.workers.work()
    assert_gone(plane, gone)
    plane.settle()
    plane.check(*uuids[1:])


@pytest.mark.parametrize("step", CELL0_STEPS)
def test_a_delete_before_any_step_to_cell0_leaves_nothing(plane: ControlPlane, step: str) -> None:
    """Its siblings are in cell0."""
    plane.scheduler.error = NO_HOST
    uuids = plane.create(3)
    gone = uuids[0]
    plane.before_step = deleting_before(plane, step, uuids[:1])
    plane.workers.work()
    assert_gone(plane, gone)
    plane.settle()
    plane.check(*uuids[1:])


def test_a_delete_while_the_scheduler_claims_is_released(plane: ControlPlane) -> None:
    """The claim that was made meanwhile is released permanently."""
    uuids = plane.create(2)
    plane.scheduler.before = lambda: plane.delete(uuids[0])
    plane.workers.work()
    plane.settle()
    plane.check(uuids[1])
    assert plane.placement.fences[uuids[0]] == FENCE_FINAL


def test_a_delete_while_the_cell_stores_is_told_to_the_cell(plane: ControlPlane) -> None:
    """The cell has it already, so it is deleted there, right after it was mapped."""
    uuids = plane.create(2)
    the_cell(plane).before_answer = lambda: plane.delete(uuids[0])
    plane.workers.work()
    assert_gone(plane, uuids[0])
    plane.check(uuids[1])


def test_all_of_a_request_may_be_deleted_before_it_is_scheduled(plane: ControlPlane) -> None:
    """The scheduler is not asked for nothing."""
    uuids = plane.create(2)
    for uuid in uuids:
        plane.delete(uuid)
    plane.workers.work()
    plane.check()
    assert plane.scheduler.specs == []


def test_a_delete_while_its_cell_is_away_is_done_when_it_is_back(plane: ControlPlane) -> None:
    """It is accepted, shown as deleting, and told again until the cell answers."""
    (uuid,) = plane.build()
    plane.bus_of(the_cell(plane)).fail("delete_instance", TIMEOUT, times=2)
    plane.delete(uuid)
    assert plane.servers.get_server(a_user(), uuid).task_state == "deleting"
    plane.settle()
    assert_gone(plane, uuid)
    plane.check()


def test_a_release_while_placement_is_away_is_done_when_it_is_back(plane: ControlPlane) -> None:
    """Nothing stays allocated for an instance that no cell ever had."""
    uuids = plane.create(2)
    plane.scheduler.before = lambda: plane.delete(uuids[0])
    plane.bus.fail("release", TIMEOUT)
    plane.workers.work()
    assert uuids[0] in plane.placement.held
    plane.settle()
    plane.check(uuids[1])


def test_a_conductor_may_be_killed_at_any_effect_of_a_delete(plane: ControlPlane) -> None:
    """Once accepted it comes about."""
    kept: list[str] = []
    for effect in moments("delete", begin=0.5):
        assert effect < EFFECTS_MAX
        (uuid,) = plane.build()
        was_killed = plane.killed_at(effect, partial(plane.delete, uuid))
        plane.settle()
        plane.check(*kept)
        if not was_killed:
            return


@pytest.mark.parametrize("step", ["drop deleted", "select destinations", "hand over"])
def test_a_conductor_may_be_killed_at_any_effect_after_a_delete(
    plane: ControlPlane, step: str
) -> None:
    """A request one of whose instances was deleted on the way is taken up like any other."""
    kept: list[str] = []
    for effect in moments(step, begin=1.0):
        assert effect < EFFECTS_MAX
        uuids: list[str] = []

        def work(uuids: list[str] = uuids) -> None:
            uuids.extend(plane.create(2))
            plane.before_step = deleting_before(plane, step, uuids[:1])
            plane.workers.work()

        was_killed = plane.killed_at(effect, work)
        plane.settle()
        with plane.database.reader() as session:
            used = quotas.count_usage(session, "p1")["instances"]
        assert used - len(kept) in (1, 2)  # killed before the delete was accepted
        kept += [uuid for uuid in uuids if plane.places(uuid)]
        plane.check(*kept)
        if not was_killed:
            return


def test_a_second_delete_is_accepted_while_the_first_is_under_way(plane: ControlPlane) -> None:
    """It is still there, so it may be deleted."""
    (uuid,) = plane.build()
    plane.bus_of(the_cell(plane)).fail("delete_instance", TIMEOUT)
    plane.delete(uuid)
    plane.delete(uuid)
    plane.settle()
    plane.check()


def test_a_deleted_instance_cannot_be_deleted_again(plane: ControlPlane) -> None:
    """It is as unknown as one that never was."""
    (uuid,) = plane.build()
    plane.delete(uuid)
    with pytest.raises(exception.InstanceNotFound):
        plane.delete(uuid)


def test_a_deleted_instance_counts_no_more(plane: ControlPlane) -> None:
    """The quota is free from the acceptance on."""
    uuids = plane.create(2)
    plane.delete(uuids[0])
    with plane.database.reader() as session:
        assert quotas.count_usage(session, "p1")["instances"] == 1
