"""Tests of counting servers with one flavor again when their resize is over."""

import oslo_messaging
import pytest

from armillary import exception
from conductor.super_conductor.db import models
from conductor.super_conductor.db.catalogue import quotas
from conductor.super_conductor.move import resize_usage
from tests import builders
from tests.fixtures.control_plane import ControlPlane, an_admin
from tests.fixtures.super_conductor.fake_cell_conductor import CellConductor

pytestmark = pytest.mark.sampled_tests(every=2)

SMALL, LARGE = (1, 512), (4, 2048)


@pytest.fixture
def cell(plane: ControlPlane) -> CellConductor:
    """Return the one cell; there is a larger flavor."""
    plane.add_flavor("large", vcpus=4, memory_mb=2048)
    (cell,) = plane.cells.values()
    return cell


def usage(plane: ControlPlane) -> tuple[int, int]:
    used = plane.database.read(quotas.count_usage, "p1")
    return used["cores"], used["ram"]


def resized(plane: ControlPlane, count: int = 1) -> list[str]:
    """Have servers that wait to be confirmed."""
    uuids = plane.build(count)
    for uuid in uuids:
        plane.operate(uuid, "resize", flavor="large")
    plane.workers.work()
    return uuids


def test_one_that_waits_counts_the_larger(plane: ControlPlane, cell: CellConductor) -> None:
    """It may be confirmed or reverted yet."""
    resized(plane)
    assert plane.resize_usage.reconcile() == 0
    assert usage(plane) == LARGE


@pytest.mark.parametrize(
    ("name", "expected"), [("large", LARGE), ("small", SMALL)], ids=["confirmed", "reverted"]
)
def test_the_end_of_a_resize_is_counted(
    plane: ControlPlane, cell: CellConductor, name: str, expected: tuple[int, int]
) -> None:
    """With the flavor that its cell says; once."""
    (uuid,) = resized(plane)
    flavor = {
        "large": cell.instances[uuid].flavor,
        "small": cell.build_requests[0].instance.flavor,
    }[name]
    cell.end_resize(uuid, flavor=flavor)
    assert plane.resize_usage.reconcile() == 1
    assert usage(plane) == expected
    assert plane.resize_usage.reconcile() == 0


def test_a_resize_that_found_no_host_gives_the_quota_back(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """As nothing was resized."""
    (uuid,) = plane.build()
    plane.scheduler.error = exception.NoValidHost(reason="none")
    plane.operate(uuid, "resize", flavor="large")
    plane.workers.work()
    assert usage(plane) == LARGE
    assert plane.resize_usage.reconcile() == 1
    assert usage(plane) == SMALL


def test_a_resize_that_its_cell_refused_gives_the_quota_back(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """It was counted before the cell was asked."""
    (uuid,) = plane.build()
    cell.refusal = exception.InstanceInvalidState(
        instance_uuid=uuid, operation="resize", reason="it is paused"
    )
    with pytest.raises(exception.InstanceInvalidState):
        plane.operate(uuid, "resize", flavor="large")
    assert plane.resize_usage.reconcile() == 1
    assert usage(plane) == SMALL


def test_a_larger_resize_that_found_no_host_does_not_count_while_another_waits(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """Two requests crossed: the one that found no host leaves nothing behind."""
    plane.add_flavor("huge", vcpus=9, memory_mb=9216)
    (uuid,) = plane.build()
    plane.scheduler.error = exception.NoValidHost(reason="none")
    plane.operate(uuid, "resize", flavor="huge")
    plane.workers.work()
    plane.scheduler.error = None
    small = cell.instances[uuid].flavor
    plane.operate(uuid, "resize", flavor="large")
    plane.workers.work()
    assert usage(plane) == (9, 9216)
    large = cell.instances[uuid].flavor
    cell.migrations = [
        builders.a_migration(uuid, status="finished", old_flavor=small, new_flavor=large)
    ]
    plane.resize_usage.reconcile()
    assert usage(plane) == LARGE
    cell.migrations = []
    cell.end_resize(uuid, flavor=small)
    plane.clock.advance(resize_usage.BACKOFF.max_seconds)
    assert plane.resize_usage.reconcile() == 1
    assert usage(plane) == SMALL


def test_a_resize_does_not_count_while_the_server_is_busy_with_something_else(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """Its cell has no move of it that has not ended."""
    (uuid,) = plane.build()
    cell.refusal = exception.InstanceInvalidState(
        instance_uuid=uuid, operation="resize", reason="it is rebooting"
    )
    with pytest.raises(exception.InstanceInvalidState):
        plane.operate(uuid, "resize", flavor="large")
    cell.instances[uuid] = cell.instances[uuid].with_values(task_state="rebooting")
    assert plane.resize_usage.reconcile() == 1
    assert usage(plane) == SMALL


def test_what_counts_wrongly_is_found_and_corrected(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """Whatever the cause: the cell's record decides."""
    wrong, right = plane.build(2)
    large = cell.instances[wrong].with_values(
        flavor=builders.a_flavor(name="large", vcpus=4, memory_mb=2048)
    )
    cell.instances[wrong] = large
    assert plane.resize_usage.recheck([large, cell.instances[right]]) == [wrong]
    assert plane.resize_usage.reconcile() == 1
    assert usage(plane) == (5, 2560)
    assert plane.resize_usage.recheck([large, cell.instances[right]]) == []


def test_one_that_waits_to_be_confirmed_counts_with_the_larger_flavor(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """Though its mapping says that no resize is under way."""
    (uuid,) = resized(plane)
    before = usage(plane)
    small, large = (
        builders.a_flavor(name=name, vcpus=vcpus, memory_mb=memory_mb)
        for name, vcpus, memory_mb in (("small", 1, 512), ("large", *before))
    )
    cell.migrations.append(
        builders.a_migration(uuid, status="finished", old_flavor=small, new_flavor=large)
    )
    with plane.database.writer() as session:
        session.query(models.InstanceMapping).update(
            {"vcpus": 1, "memory_mb": 512, "is_resizing": False}
        )
    assert usage(plane) != before
    assert plane.resize_usage.recheck([cell.instances[uuid]]) == [uuid]
    plane.resize_usage.reconcile()
    assert usage(plane) == before
    assert plane.resize_usage.recheck([cell.instances[uuid]]) == []


def test_one_that_is_accepted_and_not_begun_stays_counted(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """Its cell was unreachable: it knows nothing of the resize that comes."""
    (uuid,) = plane.build()
    plane.bus_of(cell).fail("begin_operation", TimeoutError("no answer"))
    with pytest.raises(exception.RpcFailed):
        plane.operate(uuid, "resize", flavor="large")
    assert plane.resize_usage.reconcile() == 0
    plane.settle()
    assert cell.instances[uuid].vm_state == "resized"
    assert usage(plane) == LARGE


def test_one_whose_cell_is_away_is_asked_for_later(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """Until then it counts the larger."""
    (uuid,) = resized(plane)
    cell.end_resize(uuid, flavor=cell.build_requests[0].instance.flavor)
    plane.bus_of(cell).fail("get_instance", oslo_messaging.MessagingTimeout("no answer"))
    assert plane.resize_usage.reconcile() == 0
    assert plane.resize_usage.reconcile() == 1
    assert usage(plane) == SMALL


def test_those_that_wait_hold_up_no_others(
    plane: ControlPlane, cell: CellConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many wait for their users: each check goes on after the last one."""
    monkeypatch.setattr(resize_usage, "BATCH_SIZE", 2)
    uuids = sorted(resized(plane, 5))
    flavor = cell.build_requests[0].instance.flavor
    cell.instances[uuids[4]] = cell.instances[uuids[4]].with_values(
        vm_state="active", flavor=flavor
    )
    assert sum(plane.resize_usage.reconcile() for _ in range(3)) == 1
    assert usage(plane) == (4 * 4 + 1, 4 * 2048 + 512)
    cell.instances[uuids[0]] = cell.instances[uuids[0]].with_values(
        vm_state="active", flavor=flavor
    )
    plane.clock.advance(resize_usage.BACKOFF.max_seconds)
    assert plane.resize_usage.reconcile() == 1  # the first batch again


def questions(plane: ControlPlane, cell: CellConductor, *, seconds: int) -> int:
    """Return how often a cell is asked in so many seconds, with a look in each."""
    asked: list[None] = []
    for _ in range(seconds):
        plane.bus_of(cell).meanwhile("get_instance", lambda: asked.append(None))
    for _ in range(seconds):
        plane.resize_usage.reconcile()
        plane.clock.advance(1.0)
    plane.bus_of(cell).acts.clear()
    return len(asked)


def test_one_that_waits_for_its_user_is_asked_for_less_and_less(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """It may wait for days; at most half a minute passes from one question to the next."""
    resized(plane)
    assert questions(plane, cell, seconds=60) == 6
    assert questions(plane, cell, seconds=60) == 2


@pytest.mark.parametrize("operation", ["confirm_resize", "revert_resize"])
def test_one_that_is_ended_is_asked_for_at_the_next_look(
    plane: ControlPlane, cell: CellConductor, operation: str
) -> None:
    """Its user, who has waited long, has the quota back immediately."""
    (uuid,) = resized(plane)
    questions(plane, cell, seconds=60)
    plane.operate(uuid, operation)
    cell.end_resize(uuid, flavor=cell.build_requests[0].instance.flavor)
    assert plane.resize_usage.reconcile() == 1


def test_a_deleted_one_counts_nothing(plane: ControlPlane, cell: CellConductor) -> None:
    """No cell is asked about it."""
    (uuid,) = resized(plane)
    plane.delete(uuid)
    assert plane.resize_usage.reconcile() == 0
    assert usage(plane) == (0, 0)


def test_another_resize_that_begins_meanwhile_stays_counted(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """It was accepted while the cell answered about the first."""
    (uuid,) = resized(plane)
    cell.end_resize(uuid, flavor=cell.build_requests[0].instance.flavor)
    plane.bus_of(cell).meanwhile(
        "get_instance",
        lambda: plane.operate(uuid, "resize", flavor="large", context=an_admin()),
        when_done=True,
    )
    assert plane.resize_usage.reconcile() == 0
    assert usage(plane) == LARGE


def test_every_engine_counts_alike(any_plane: ControlPlane) -> None:
    """From the acceptance to the end, with a second resize under way."""
    any_plane.add_flavor("large", vcpus=4, memory_mb=2048)
    (cell,) = any_plane.cells.values()
    first, second = resized(any_plane, 2)
    small = cell.build_requests[0].instance.flavor
    cell.end_resize(first, flavor=small)
    any_plane.operate(first, "resize", flavor="large")
    assert any_plane.resize_usage.reconcile() == 0
    any_plane.settle()
    cell.end_resize(second, flavor=small)
    any_plane.clock.advance(resize_usage.BACKOFF.max_seconds)
    assert any_plane.resize_usage.reconcile() == 1
    assert usage(any_plane) == (5, 2560)
