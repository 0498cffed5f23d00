"""Reservations that wait together go to their cells together, each with its own outcome."""

import oslo_messaging
import pytest

from armillary import exception
from conductor.super_conductor.builds import build_group
from objects.allocations.fence import Fence
from objects.cell_mapping import CELL0_UUID
from tests.fixtures.control_plane import ControlPlane, a_user
from tests.fixtures.messages.direct_bus import moments, once
from tests.fixtures.super_conductor.fake_cell_conductor import CellConductor

STEPS = [step.name for step in (*build_group.SCHEDULE, *build_group.HAND_OVER)]
EFFECTS_MAX = 60
FIRST, SECOND = int(Fence.of_build(1)), int(Fence.of_build(2))
TIMEOUT = oslo_messaging.MessagingTimeout("no answer")


@pytest.fixture
def plane(plane: ControlPlane) -> ControlPlane:
    """Return one that has two cells."""
    plane.add_cell("cell2", hosts=2)
    return plane


def some(plane: ControlPlane, count: int = 3) -> list[str]:
    """Ask for servers in so many requests that wait together; return their UUIDs."""
    return [uuid for _ in range(count) for uuid in plane.create()]


def states(plane: ControlPlane, uuids: list[str]) -> list[str]:
    return [plane.servers.get_server(a_user(), uuid).vm_state for uuid in uuids]


def the_cells(plane: ControlPlane) -> list[CellConductor]:
    return list(plane.cells.values())


def test_requests_that_wait_share_messages(plane: ControlPlane) -> None:
    """One to a scheduler, one to each cell; all end where they should."""
    uuids = [*some(plane, 4), *plane.create(2)]
    plane.workers.work()
    plane.check(*uuids)
    assert states(plane, uuids) == ["active"] * 6
    assert plane.scheduler.batch_sizes == [5]
    assert [len(cell.batch_sizes) for cell in the_cells(plane)] == [1, 1]


def test_the_cells_get_what_they_get_from_a_lone_request(plane: ControlPlane) -> None:
    """Each its own spec, its host with an alternate in the same cell, and the fence."""
    uuids = some(plane)
    plane.workers.work()
    handed = [one for cell in the_cells(plane) for one in cell.build_requests]
    assert {one.request_spec.instance_uuid for one in handed} == set(uuids)
    assert {one.fence for one in handed} == {FIRST}
    for one in handed:
        assert {host.cell_uuid for host in one.selections} == {one.selections[0].cell_uuid}
        assert len(one.selections) == 2


def test_each_keeps_its_own_trace(plane: ControlPlane) -> None:
    """With its own choice in it."""
    uuids = some(plane)
    assert uuids
    plane.workers.work()
    for uuid in uuids:
        trace = plane.servers.explain(a_user(), uuid, with_hosts=False).trace
        assert trace
        assert [choice["instance_uuid"] for choice in trace["choices"]] == [uuid]


def test_a_request_without_a_host_fails_alone(plane: ControlPlane) -> None:
    """By the answer that came: the scheduler is not asked for it again."""
    uuids = some(plane)
    plane.scheduler.refused = {uuids[1]}
    plane.workers.work()
    plane.check(*uuids)
    assert states(plane, uuids) == ["active", "error", "active"]
    assert plane.places(uuids[1]) == [CELL0_UUID]
    assert len(plane.scheduler.specs) == 3


def test_what_is_special_goes_alone(plane: ControlPlane) -> None:
    """A request in a server group, whose members have to be looked up, and a large one."""
    group = plane.add_group()
    uuids = [
        *some(plane),
        *plane.create(hints={"group": [group.uuid]}),
        *plane.create(build_group.INSTANCES_MAX + 1),
    ]
    plane.workers.work()
    plane.check(*uuids)
    assert plane.scheduler.batch_sizes == [3]
    assert plane.steps.count("select destinations") == 2


@pytest.mark.parametrize("step", STEPS)
def test_a_delete_before_any_step_hits_one_of_them(plane: ControlPlane, step: str) -> None:
    """It is gone everywhere, the others live."""
    uuids = [*some(plane), *plane.create(2)]

    def delete() -> None:
        plane.delete(uuids[1])
        plane.delete(uuids[4])

    plane.before_step = once(step, delete)
    plane.workers.work()
    plane.settle()
    plane.check(uuids[0], uuids[2], uuids[3])
    known = {uuid for cell in the_cells(plane) for uuid in cell.known}
    assert (uuids[1] in known) == (step == STEPS[-1])


def test_what_was_deleted_before_it_is_read_is_not_scheduled(plane: ControlPlane) -> None:
    """Nothing is ever claimed for it."""
    uuids = some(plane)
    plane.delete(uuids[1])
    plane.workers.work()
    plane.check(uuids[0], uuids[2])
    assert plane.scheduler.batch_sizes == [2]
    assert len(plane.scheduler.specs) == 2


def test_a_delete_while_the_scheduler_decides_hits_one_of_them(plane: ControlPlane) -> None:
    """What was claimed for it is released."""
    uuids = some(plane)
    plane.scheduler.before = lambda: plane.delete(uuids[0])
    plane.workers.work()
    plane.settle()
    plane.check(*uuids[1:])


def test_a_conductor_may_be_killed_at_any_effect(plane: ControlPlane) -> None:
    """Before and after messages and transactions; another one goes on, nothing is lost."""
    accepted: list[str] = []
    for effect in moments("group", begin=2.0):
        assert effect < EFFECTS_MAX

        def work() -> None:
            accepted.extend(plane.create())
            accepted.extend(plane.create(2))
            plane.workers.work()

        if not plane.killed_at(effect, work):
            break
        plane.settle()
        plane.check(*accepted)
    plane.check(*accepted)


def test_an_answer_that_never_came_is_asked_for_again_under_higher_fences(
    plane: ControlPlane,
) -> None:
    """The scheduler had claimed for all of them."""
    plane.bus.fail("select_destinations_many", TIMEOUT, when_done=True)
    uuids = some(plane)
    plane.workers.work()
    assert states(plane, uuids) == ["building"] * 3
    plane.settle()
    plane.check(*uuids)
    assert plane.scheduler.fences == [FIRST] * 3 + [SECOND] * 3


def test_a_cell_that_does_not_answer_holds_up_no_other(plane: ControlPlane) -> None:
    """Its instances wait; those of the other cell live; nothing is scheduled again."""
    _living, dead = the_cells(plane)
    plane.bus_of(dead).fail("build_instances", TIMEOUT, when_done=True)
    uuids = some(plane, 4)
    plane.workers.work()
    assert sorted(states(plane, uuids)) == ["active", "active", "building", "building"]
    plane.settle()
    plane.check(*uuids)
    assert len(plane.scheduler.specs) == 4


def test_a_conductor_that_was_too_slow_writes_nothing(
    plane: ControlPlane, other_plane: ControlPlane
) -> None:
    """While it waits for the scheduler another one takes over: only the latter's answer counts."""

    def overtake() -> None:
        plane.scheduler.before = lambda: None
        other_plane.clock.advance(60)
        other_plane.recover()

    plane.scheduler.before = overtake
    uuids = some(plane)
    plane.workers.work()
    plane.settle()
    plane.check(*uuids)
    handed = [one for cell in the_cells(plane) for one in cell.build_requests]
    assert {one.fence for one in handed} == {SECOND}


def test_one_that_was_taken_over_before_the_cell_is_asked_is_not_handed_over(
    plane: ControlPlane, other_plane: ControlPlane
) -> None:
    """Who has the lease now has done so."""

    def overtake() -> None:
        other_plane.clock.advance(60)
        other_plane.recover()

    plane.before_step = once("hand over together", overtake)
    uuids = some(plane)
    plane.workers.work()
    plane.settle()
    plane.check(*uuids)
    assert sum(size for cell in the_cells(plane) for size in cell.batch_sizes) == len(uuids)


def test_no_lease_is_kept_when_all_is_done(plane: ControlPlane) -> None:
    """Neither of those that went together nor of one that went alone in the end."""
    uuids = some(plane)
    plane.scheduler.refused = {uuids[0]}
    plane.workers.work()
    assert len(plane.builds.keeper) == 0


def test_one_that_finds_all_workers_busy_is_left_to_recovery(plane: ControlPlane) -> None:
    """Those before it go together."""
    uuids = some(plane, 2)
    plane.workers.are_busy = True
    uuids += plane.create()
    plane.workers.are_busy = False
    plane.workers.work()
    assert sorted(states(plane, uuids)) == ["active", "active", "building"]
    plane.recover()
    plane.check(*uuids)


def test_an_answer_in_error_is_said(plane: ControlPlane) -> None:
    """A request that cannot be scheduled is ERROR immediately, the others are not."""
    uuids = some(plane, 2)
    plane.scheduler.error = exception.UnsupportedPolicy(policy="affinity", reason="not enabled")
    plane.workers.work()
    plane.check(*uuids)
    assert states(plane, uuids) == ["error", "error"]
